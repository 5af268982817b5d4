package contract

import (
	"fmt"
	"strings"

	"github.com/trkr-dev/trkr-validate/internal/pattern"
)

// span stands in prose for what was quoted there: a command, a text, a path.
const span = "\x01"

var (
	aboutCode = pattern.Regexp(`(?i)\b(?:(?:source|the|our|new|existing|dead) code|code ?base|code (?:quality|style|review|path)|` +
		`refactor\w*|re-?implement\w*|implementation|implemented|internally|under the hood|(?:unit|integration|regression) tests?|all tests|` +
		`test (?:suite|coverage)|coverage|maintainab\w+|readab(?:le|ility)|clean code|architecture|design pattern|type-?safe|` +
		`(?:functions?|methods?|class(?:es)?|structs?|helpers?) ` + span + `|` + span + ` (?:function|method|class|struct|helper)|` +
		`comments? in|(?:is|are) documented|README|pull request|lint(?:er|s)?\b)`)
	needsSource = pattern.Regexp(`^(?:go (?:test|build|vet|run|generate)|cargo (?:test|build|check|clippy|fmt)|(?:npm|pnpm|yarn) (?:test|run|ci)|pytest|tox|` +
		`(?:python3? -m )(?:pytest|unittest)|mvn|gradle|\./gradlew|golangci-lint|gofmt|eslint|ruff|mypy|tsc|make|git)(?: |$)`)
	sourcePath = pattern.Regexp(`(?:^|[\s(])((?:[\w.-]+/)*[\w-]+\.(?:go|rs|py|tsx?|jsx?|java|kt|cc?|cpp|h|hpp|rb|cs|swift|php|scala))(?:$|[\s,.;:)])`)
	product    = pattern.Regexp(`(?i)^(?:node|vue|next|nuxt|d3|three|express|deno)\.js$`)

	vague = pattern.Regexp(`(?i)\b(?:proper(?:ly)?|correct(?:ly)?|appropriate(?:ly)?|suitabl[ey]|as (?:expected|intended|needed|required|appropriate)|` +
		`works?|working|fast(?:er)?|quick(?:ly)?|efficient(?:ly)?|performant|responsive|slow|reasonabl[ey]|acceptabl[ey]|sensibl[ey]|` +
		`robust(?:ly)?|graceful(?:ly)?|nice(?:ly)?|clean(?:ly)?|user-?friendly|intuitive(?:ly)?|easy|easily|simpl[ey]|helpful|meaningful|useful|` +
		`seamless(?:ly)?|smooth(?:ly)?|handles?|supports?|improve[sd]?|better|various|several|etc|and so on|if (?:possible|necessary))(?:\W|$)`)

	observable = pattern.Regexp(`(?i)\b(?:exit(?:s|ed)?|print(?:s|ed)?|shows?|shown|display(?:s|ed)?|outputs?|writ(?:es?|ten)|stdout|stderr|creat(?:es?|ed)|` +
		`remov(?:es?|ed)|delet(?:es?|ed)|renam(?:es?|ed)|returns?|responds?|answers?|fails?|succeeds?|lists?|rejects?|rejected|accepts?|accepted|refus(?:es?|ed)|` +
		`contains?|holds?|leaves?|left|exists?|keeps?|reports?|logs?|sends?|sent|receiv(?:es?|ed)|opens?|clos(?:es?|ed)|starts?|stops?|appears?|saves?|saved|` +
		`installs?|reads?|listens?|redirects?|ignor(?:es?|ed)|counts?|sort(?:s|ed)?|asks?|prompts?|unchanged|changes?|changed|crash(?:es)?|hangs?|empty|` +
		`message|within|takes|at (?:most|least)|equals?|match(?:es)?|same|ends?|begins?|status|error)\b`)

	sentenceEnd = pattern.Regexp(`[.;] +|,? (?:and|but|while) (?:also )?`)
	// newSubject begins a clause that is about another thing than the one before.
	newSubject = pattern.Regexp(`(?i)^(?:(?:running|then) )*` + span + ` (?:(?:should|must|shall|will|does|has to) )*(?:not )?` +
		`(?:exits?|prints?|shows?|outputs?|writes?|returns?|fails?|succeeds?|creates?|removes?|deletes?|lists?|answers?|rejects?|accepts?|reports?)\b`)
	// otherSentence begins a sentence that does not go on about what the one before did.
	otherSentence = pattern.Regexp(`^(?:An?|The|All|Each|Every|Users?|When|If)\b`)
	again         = pattern.Regexp(`(?i)^(?:the (?:output|exit|error|message|file|result|command|line|program|response|body)|` + span + ` (?:a|an|its?)\b)`)
)

// hints says what may make an assertion hard to check. What stands in backticks or quotes is never taken for prose.
func hints(a Assertion) []Hint {
	prose, spans := quotesOut(a.Text)
	var out []Hint
	say := func(code HintCode, format string, args ...any) {
		out = append(out, Hint{Line: a.Line, ID: a.ID, Code: code, Text: fmt.Sprintf(format, args...)})
	}
	if word := strings.ReplaceAll(aboutCode().FindString(prose), span, "..."); word != "" {
		say(NotCheckable, "%q is about the code, which nobody who checks this has: say what it makes the product do", word)
	}
	command := false
	for _, s := range spans {
		if word := strings.TrimSpace(needsSource().FindString(s)); word != "" {
			say(NotCheckable, "%q needs the source, which is not in the box: say what the product does", word)
		}
		command = command || sourcePath().FindString(s) != strings.TrimSpace(s)
	}
	for i, text := range append([]string{prose}, spans...) {
		if i > 0 && command {
			break // a file that the command is given
		}
		if m := sourcePath().FindStringSubmatch(text); m != nil && !product().MatchString(m[1]) {
			say(NamesSource, "%q is a source file, which is not in the box: say what the product does", m[1])
			break
		}
	}
	if twice(prose) {
		say(TwoAssertions, "it says two things: give each an assertion of its own, so that each gets its own verdict")
	}
	if word := vague().FindString(prose); word != "" {
		say(Vague, "%q can mean anything: say what is printed, created or returned", strings.TrimRight(word, " .,;:)"))
	}
	if len(spans) == 0 && !observable().MatchString(prose) {
		say(NothingObservable, "it does not say what would be seen: name a command and what it prints, exits with or creates")
	}
	return out
}

// twice reports whether prose has a second clause with a subject of its own.
func twice(prose string) bool {
	ends := sentenceEnd().FindAllStringIndex(prose, -1)
	for _, at := range ends {
		before, after, sep := prose[:at[0]], prose[at[1]:], prose[at[0]:at[1]]
		if !observable().MatchString(before) || !observable().MatchString(after) || again().MatchString(after) {
			continue
		}
		if newSubject().MatchString(after) || sep[0] == '.' && otherSentence().MatchString(after) {
			return true
		}
	}
	return false
}

// quotesOut takes out of text what stands in backticks or double quotes.
func quotesOut(text string) (prose string, spans []string) {
	var b strings.Builder
	for text != "" {
		i := strings.IndexAny(text, "`\"")
		if i < 0 {
			break
		}
		b.WriteString(text[:i])
		text = text[i:]
		n := codeSpan(text)
		if text[0] == '"' {
			n = 1 + strings.IndexByte(text[1:], '"') + 1
		}
		if n < 2 || strings.Trim(text[:n], "`\"") == "" {
			n = max(n, 1)
			b.WriteString(text[:n])
		} else {
			spans = append(spans, strings.TrimSpace(strings.Trim(text[:n], "`\"")))
			b.WriteString(span)
		}
		text = text[n:]
	}
	return b.String() + text, spans
}
