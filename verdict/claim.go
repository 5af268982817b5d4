package verdict

import (
	"bytes"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/trkr-dev/trkr-validate/internal/pattern"
)

// A line that claims to be a report line and was not read as one may be an objection. What follows tells such a line
// from prose that has a word of the grammar at its start: "## Verdict", "Findings: none", "Criterion VAL-1, in detail".

const objection = `(?:fail(?:ed|s|ure|ures|ing)?|block(?:ed|ing|er|ers|s)|unmet|unclear|unverified|reject(?:ed)?|` +
	`not (?:yet )?(?:clear|met|pass|passed|passing|ok|fulfilled|satisfied|ready|good))`

var (
	claimWord = pattern.Regexp(`(?i)^(CRITERION|CRITERIONS|CRITERIA|FINDING|FINDINGS|VERDICT|VERDICTS)(?:[^\pL].*)?$`)
	// In capitals nearly whatever follows is a claim: what a separator stands before, a word of the grammar, an id.
	capitalClaim = pattern.Regexp(`^[\s#0-9.()]*(?:[:：﹕∶꞉︓=–—→]|\s-+\s)\s*\S|(?i)^[^\pL]*(?:(?:pass|fail|blocked|blocking|note|clear)(?:[^\pL]|$)|VAL-)`)
	// In small letters it is one only where an objection would be lost, or where the form is nearly right.
	smallClaim = pattern.Regexp(`(?i)^(?:` +
		`[^\pL]*[^\pL\s][^\pL]*(?:(?:it|this|is|was)\s+)*` + objection + `(?:[^\pL]|$)|` +
		`\s+(?:(?:is|was)\s+)*` + objection + `[^\pL\pN]*(?:$|[:：|–—-])|` +
		`[^\pL]*VAL-[A-Z0-9-]*[^\pL]*(?:(?:it|this|is|was|has|does|did)\s+)*` + objection + `(?:[^\pL]|$)|` +
		`[^\pL]*[❌✗✘✖❎🚫⛔🔴🛑👎])`)
	exactClaim = pattern.Regexp(`(?i)^\s*[:：﹕∶꞉︓]\s*(?:pass|fail|blocked|blocking|note|clear)(?:[^\pL]|$)`)
	noFindings = pattern.Regexp(`(?i)^[^\pL\pN]*(?:none|nothing|n/?a|no (?:blocking )?(?:findings?|issues?|problems?|objections?)|0|0 blocking(?:[ ,;]+[0-9]+ notes?)?)?(?: found)?[^\pL\pN]*$`)
)

// claims reports whether line, which is no report line, begins as one.
func claims(line string) bool {
	line = bare(line)
	m := claimWord().FindStringSubmatch(line)
	if m == nil {
		return false
	}
	word, rest := m[1], line[len(m[1]):]
	capitals := strings.ToUpper(word)
	many := capitals != "CRITERION" && capitals != "FINDING" && capitals != "VERDICT"
	if many && noFindings().MatchString(rest) {
		return false
	}
	if word == capitals && capitalClaim().MatchString(rest) {
		return true
	}
	return smallClaim().MatchString(rest) || !many && exactClaim().MatchString(rest)
}

// bare is line without what may stand before its first word, and without decoration and what has no width.
func bare(line string) string {
	line = strings.Map(func(r rune) rune {
		if strings.ContainsRune(decoration, r) || unicode.In(r, unicode.Cf, unicode.Mn, unicode.Me) {
			return -1
		}
		return r
	}, line)
	return trimSpace(string(withoutSymbols([]byte(line))))
}

// withoutSymbols cuts off everything before the first letter that begins a word: bullets, emoji, bars of a table,
// numbers, tags. It is what scan passes over.
func withoutSymbols(line []byte) []byte {
	for len(line) > 0 {
		if n := markup(line); n > 0 {
			line = line[n:]
			continue
		}
		r, size := utf8.DecodeRune(line)
		if !mayLead(r) {
			break
		}
		line = line[size:]
	}
	return line
}

// mayLead reports whether r can stand before the keyword of a report line. x is a ticked box, or a cross.
func mayLead(r rune) bool { return !unicode.IsLetter(r) || r == 'x' || r == 'X' }

// markup measures what s begins with and what is shown as a symbol or not at all: an HTML tag, a character reference,
// an emoji's name.
func markup(s []byte) int {
	if len(s) < 3 {
		return 0
	}
	var end byte
	switch s[0] {
	case '<':
		end = '>'
	case '&':
		end = ';'
	case ':':
		end = ':'
	default:
		return 0
	}
	if b := s[1] | 0x20; s[1] != '/' && (b < 'a' || b > 'z') {
		return 0
	}
	n := bytes.IndexByte(s[1:min(len(s), 200)], end) + 2
	if n < 3 || end != '>' && bytes.IndexByte(s[:n], ' ') >= 0 {
		return 0
	}
	return n
}

// template reports whether text is what the grammar's description has in that place.
func template(text string) bool {
	text = strings.ToLower(strings.Join(strings.FieldsFunc(placeholder().ReplaceAllString(text, ""), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r)
	}), " "))
	switch text {
	case "", "what", "where", "where what", "why", "evidence", "reason", "your evidence", "what was run", "what was seen",
		"what was run and seen", "what was run and what was seen", "expected got", "why it could not be checked":
		return true
	}
	return false
}

var (
	placeholder = pattern.Regexp(`<[\pL _.,…|-]*>|\{[\pL _.,…|-]*\}|\[[\pL _.,…|-]*\]`)
	unshown     = pattern.Regexp(`~~.*?~~|<!--.*?-->|(?i:<(?:s|del|strike)>.*?</(?:s|del|strike)>)`)
	undone      = undoneEvidence()
)

// undoneEvidence finds evidence that says that there is none. Only its start counts, where what follows is a reason.
func undoneEvidence() func() *regexp.Regexp {
	const (
		not  = `(?:(?:it|this|i) )?(?:(?:was|is|has|have|did|do|could|can) ?)?(?:not|n['’]t|never) (?:(?:yet|be|been|actually) )*`
		done = `(?:check|test|verif(?:y|i)|execut|attempt|validat|confirm|try|tri)(?:ed|e)?`
	)
	return pattern.Regexp(`(?i)^[^\pL\pN]*(?:` +
		`(?:none|nothing|nil|null|tbd|todo|pending|unknown|skipped|` + not + `(?:run|done|known))(?: yet)?[^\pL\pN]*$|` +
		`(?:n/?a|not applicable|no evidence|un(?:checked|tested|verified)|` + not + done + `)(?:[^\pL\pN]|$))`)
}

// substantial reports whether evidence says anything at all, and more than that there is nothing to say.
func substantial(evidence string) bool {
	evidence = unshown().ReplaceAllString(evidence, "")
	return strings.ContainsFunc(evidence, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }) &&
		!template(evidence) && !undone().MatchString(evidence)
}
