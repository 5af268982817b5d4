package loop

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/trkr-dev/trkr-validate/internal/pattern"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// MaxProposal is the most bytes that a triage agent's proposal may have.
const MaxProposal = 1 << 20

// Question is what a triage agent is asked: what becomes of these findings.
type Question struct {
	SchemaVersion int       `json:"schemaVersion"`
	Issue         string    `json:"issue"`
	Turn          int       `json:"turn"`
	Findings      []Finding `json:"findings"` // all BLOCKING, all of this turn
}

// Proposal is what a triage agent answers: each finding stands exactly once in Retry, FixTicket or Dismiss.
type Proposal struct {
	SchemaVersion int         `json:"schemaVersion"`
	Retry         []string    `json:"retry,omitempty"`      // ids of findings that belong to this ticket
	FixTicket     []FixTicket `json:"fix_ticket,omitempty"` // real, and out of this ticket's scope
	Dismiss       []Dismissal `json:"dismiss,omitempty"`    // not real
	Block         *Block      `json:"block,omitempty"`      // a person is needed
}

// FixTicket proposes an issue of its own for a finding.
type FixTicket struct {
	Finding string `json:"finding"`
	Title   string `json:"title"`
	Body    string `json:"body"`
	Blocks  bool   `json:"blocks,omitempty"` // this ticket has to wait for it
}

// Dismissal says why a finding is not real.
type Dismissal struct {
	Finding       string `json:"finding"`
	Justification string `json:"justification"`
}

// Block says why a person is needed.
type Block struct {
	Why string `json:"why"`
}

// Triage is a proposal as it was disposed of. Where Rejected says why it was not taken, nothing of it counts.
type Triage struct {
	Rejected string    `json:"rejected,omitempty"`
	Proposal *Proposal `json:"proposal,omitempty"` // nil where it was rejected
}

// Action is something done outside for a proposal, once only.
type Action struct {
	Key   string `json:"key"`             // file:ID or comment:ID of the finding
	Ref   string `json:"ref,omitempty"`   // of action.finished: what the tracker said
	Error string `json:"error,omitempty"` // of action.finished: why it failed
}

// Able says what can be carried out.
type Able struct{ File, Comment bool }

const (
	minJustification = 20
	maxTitle         = 200
	maxText          = 16 << 10
)

// What a justification may hold and what says nothing about whether a finding is real. What remains without it is what
// it says.
var (
	noReasons = pattern.Regexp(`\b(?:low(?:er)? (?:priority|severity|impact)|non ?blocking|not (?:a )?(?:blocking|blocker|priority|important|critical|urgent|real|needed|relevant)|` +
		`out of (?:time|scope|budget)|no(?:t enough)? time|time ?out|won ?t ?fix|false positive|known (?:issue|problem)|good enough|n a|for now|can wait)\b`)
	fillers = pattern.Regexp(`\b(?:this|it|its|that|these|the|a|an|is|s|was|are|be|as|at|of|in|on|to|and|or|but|so|just|only|simply|really|very|rather|too|here|now|yet|today|` +
		`we|i|ran|due|because|since|will|should|has|have|finding|findings|issue|problem|item|ticket|turn|release|moment|time|scope|` +
		`minor|trivial|cosmetic|nit|nitpick|wontfix|later|skip|skipped|ignore|ignored|defer|deferred|todo|none|acceptable|irrelevant|dismiss|dismissed|fine|ok|okay|done|blocking|blocker|priority|important)\b`)
)

// minWords is how many words a justification has to hold beside those.
const minWords = 2

// empty reports whether a justification is none.
func empty(justification string) bool {
	plain := strings.Join(strings.FieldsFunc(strings.ToLower(justification), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r)
	}), " ")
	plain = fillers().ReplaceAllString(noReasons().ReplaceAllString(plain, " "), " ")
	return len(strings.Fields(plain)) < minWords
}

// ParseProposal reads and checks a proposal about findings. Whatever is wrong with it is one error, for all of it: a part
// of a proposal is none. Errors never quote data.
func ParseProposal(data []byte, about []Finding, able Able) (*Proposal, error) {
	if len(data) > MaxProposal {
		return nil, fmt.Errorf("it has more than %d bytes", MaxProposal)
	}
	var p Proposal
	if err := verdict.DecodeStrict(data, &p); err != nil {
		return nil, err
	}
	if p.SchemaVersion != SchemaVersion {
		return nil, fmt.Errorf("its schemaVersion is not %d", SchemaVersion)
	}
	count := map[string]int{}
	for _, id := range p.Retry {
		count[id]++
	}
	for i, f := range p.FixTicket {
		count[f.Finding]++
		switch title := strings.TrimSpace(f.Title); {
		case !able.File:
			return nil, fmt.Errorf("it proposes a ticket, and loop.file_ticket names no command that files one")
		case !hasWord(title) || len(title) > maxTitle || strings.ContainsFunc(title, func(r rune) bool { return r < ' ' }):
			return nil, fmt.Errorf("the title of ticket %d is not one line of 1 to %d bytes", i+1, maxTitle)
		case !hasWord(f.Body) || len(f.Body) > maxText:
			return nil, fmt.Errorf("the body of ticket %d is not a text of at most %d bytes", i+1, maxText)
		}
	}
	for i, d := range p.Dismiss {
		count[d.Finding]++
		switch why := strings.TrimSpace(d.Justification); {
		case !able.Comment:
			return nil, fmt.Errorf("it dismisses a finding, and loop.comment names no command that posts why")
		case len([]rune(why)) < minJustification || len(why) > maxText:
			return nil, fmt.Errorf("justification %d has not %d characters to %d bytes", i+1, minJustification, maxText)
		case empty(why):
			return nil, fmt.Errorf("justification %d does not say why the finding is not real", i+1)
		}
	}
	for _, f := range about {
		if count[f.ID] != 1 {
			return nil, fmt.Errorf("finding %s stands in it %d times, not once", f.ID, count[f.ID])
		}
	}
	if len(count) != len(about) {
		return nil, fmt.Errorf("it is about a finding that was not asked about")
	}
	if p.Block != nil && (!hasWord(p.Block.Why) || len(p.Block.Why) > maxText) {
		return nil, fmt.Errorf("it calls for a person and does not say why")
	}
	return &p, nil
}

// actions are what a proposal asks to be done outside, in order.
func (p Proposal) actions() []string {
	var keys []string
	for _, f := range p.FixTicket {
		keys = append(keys, fileKey(f.Finding))
	}
	for _, d := range p.Dismiss {
		keys = append(keys, commentKey(d.Finding))
	}
	return keys
}

func fileKey(id string) string    { return "file:" + id }
func commentKey(id string) string { return "comment:" + id }

// Quoted is the body of the ticket that a proposal files: the agent's words, and the evidence as quoted text that
// cannot pass for them.
func (f FixTicket) Quoted(issue string, about Finding) string {
	var b strings.Builder
	b.WriteString(strings.TrimSpace(f.Body) + "\n\nFound while issue " + issue + " was validated (" + about.ID + "):\n\n")
	lines := []string{string(about.Severity) + " — " + about.Place.Text, about.Text}
	if len(about.Criteria) > 0 {
		lines = append(lines, strings.Join(about.Criteria, ", "))
	}
	for _, l := range slices.Concat(lines) {
		for part := range strings.SplitSeq(l, "\n") {
			b.WriteString("    " + strings.TrimRight(part, " \r") + "\n") // as code: it cannot mention, link or close anything
		}
	}
	return b.String()
}
