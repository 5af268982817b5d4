// Package gate decides whether a verdict that was recorded earlier counts for what is there now. It is pure: whoever
// calls it finds out what is there.
package gate

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/trkr-dev/trkr-validate/artifact"
	"github.com/trkr-dev/trkr-validate/attest"
	"github.com/trkr-dev/trkr-validate/contract"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// Now is what there is to compare with, found out anew and never taken from the record.
type Now struct {
	Issue        string
	Tree         string // of the commit without the ticket's validation.md
	Contract     contract.Contract
	ConfigDigest string
	ConfigFrom   string          // where that comes from; for people
	OwnConfig    bool            // the caller accepts the ticket's own configuration
	Inside       bool            // the configuration takes the word of agents inside the box
	Manifest     []verdict.Entry // of artifacts that were built again; nil: they were not
	ImageDigest  string          // that the image's name stands for; empty: it could not be told
	NoImage      string          // why not; for people
	Keys         attest.Keys     // trusted; nil: signatures do not count
	Time         time.Time
	MaxAge       time.Duration // 0: a verdict does not grow old
}

// Judgement is what the gate says about a recorded verdict.
type Judgement struct {
	Record    *verdict.Record   // nil where none could be read
	Refusals  []verdict.Refusal // why it does not count, each with what exactly differs; none: its outcome counts
	SignedBy  string            // the trusted key; empty where Now had none
	Unchecked []string          // what was not compared, and what would
}

// slack is how far the clocks of two machines may differ.
const slack = 5 * time.Minute

// checks are all that is compared, one defence each.
var checks = []check{
	{"issue", (*judge).issue},
	{"rendering", (*judge).rendering},
	{"outcome", (*judge).outcome},
	{"run", (*judge).run},
	{"tree", (*judge).tree},
	{"dirty", (*judge).dirty},
	{"contract", (*judge).contract},
	{"configuration", (*judge).configuration},
	{"artifacts", (*judge).artifacts},
	{"image", (*judge).image},
	{"own configuration", (*judge).ownConfiguration},
	{"agents", (*judge).agents},
	{"age", (*judge).age},
	{"signature", (*judge).signature},
}

type check struct {
	name string
	do   func(*judge)
}

// Judge compares validation.md with what is there now. It finds every difference, not only the first.
func Judge(file []byte, now Now) Judgement { return judgeBy(file, now, verdict.ParseMarkdown, checks) }

func judgeBy(file []byte, now Now, parse func([]byte) (verdict.Record, error), by []check) Judgement {
	record, err := parse(file)
	if err != nil {
		return Judgement{Refusals: []verdict.Refusal{{Reason: verdict.RecordInvalid, Detail: err.Error()}}}
	}
	g := &judge{file: file, now: now, record: record, out: Judgement{Record: &record}}
	for _, c := range by {
		c.do(g)
	}
	return g.out
}

type judge struct {
	file   []byte
	now    Now
	record verdict.Record
	out    Judgement
}

func (g *judge) refuse(reason verdict.Reason, format string, args ...any) {
	g.out.Refusals = append(g.out.Refusals, verdict.Refusal{Reason: reason, Detail: fmt.Sprintf(format, args...)})
}

func (g *judge) unchecked(what string) { g.out.Unchecked = append(g.out.Unchecked, what) }

func (g *judge) issue() {
	if g.record.Issue != g.now.Issue {
		g.refuse(verdict.RecordForeign, "it is about issue %q, not %q", g.record.Issue, g.now.Issue)
	}
}

// rendering makes sure that what people read is what the record says, and nothing else.
func (g *judge) rendering() {
	want, err := g.record.Markdown()
	if err != nil {
		g.refuse(verdict.RecordInvalid, "its record cannot be written again: %v", err)
		return
	}
	if n, is, should, same := firstDifference(g.file, want); !same {
		g.refuse(verdict.RecordEdited, "line %d of validation.md is %q, and its record makes %q of it (it was written by version %q)", n, is, should, g.record.Tool.Version)
	}
}

func (g *judge) tree() {
	if s := g.record.Subject; s.Tree != g.now.Tree {
		g.refuse(verdict.RecordStale, "it is about the tree %q (commit %q), and the tree is %q", s.Tree, s.Commit, g.now.Tree)
	}
}

func (g *judge) dirty() {
	if g.record.Subject.Dirty {
		g.refuse(verdict.RecordDirty, "it is about changes that were not in commit %q", g.record.Subject.Commit)
	}
}

func (g *judge) contract() {
	is, now := g.record.Subject.ContractDigest, g.now.Contract.Digest()
	if is != now {
		g.refuse(verdict.RecordStale, "it is about the contract %q, and the contract is %q", is, now)
	}
	for _, d := range criteriaDiffer(g.now.Contract, g.record.Criteria) {
		g.refuse(verdict.RecordStale, "%s", d)
	}
}

func (g *judge) configuration() {
	if c := g.record.Config; c.Digest != g.now.ConfigDigest {
		g.refuse(verdict.RecordStale, "it was judged by the configuration %q (%s), and %q is in force (%s)", c.Digest, strings.TrimSpace(c.Source+" "+c.Ref), g.now.ConfigDigest, g.now.ConfigFrom)
	}
}

func (g *judge) artifacts() {
	s := g.record.Subject
	if g.now.Manifest == nil {
		g.unchecked("artifacts: --rebuild builds them again")
	} else if now := artifact.Digest(g.now.Manifest); s.ManifestDigest != now {
		g.refuse(verdict.RecordStale, "it is about the artifact set %q, and the build makes %q: %s", s.ManifestDigest, now, manifestsDiffer(s.Manifest, g.now.Manifest))
	}
}

func (g *judge) image() {
	e := g.record.Environment
	switch {
	case g.now.ImageDigest == "" && e.ImageDigest != "":
		g.unchecked(strings.TrimSuffix(fmt.Sprintf("image: nothing tells here which one %q is now: %s", e.Image, g.now.NoImage), ": "))
	case e.ImageDigest != g.now.ImageDigest:
		g.refuse(verdict.RecordStale, "it was judged in the image %q, and %q is %q now", e.ImageDigest, e.Image, g.now.ImageDigest)
	}
}

func (g *judge) ownConfiguration() {
	if g.record.Config.OfBranch() && !g.now.OwnConfig {
		g.refuse(verdict.RecordOwnConfig, "the ticket's branch decided how it was judged: %s", g.record.Config.Ref)
	}
}

func (g *judge) agents() {
	for _, a := range g.record.Agents {
		switch {
		case a.Trust == "outside", a.Trust == "inside" && g.now.Inside:
		case a.Trust == "inside":
			g.refuse(verdict.RecordInside, "the agent %q judged from inside the box, beside the program under test", a.Name)
		default:
			g.refuse(verdict.RecordContradicts, "the agent %q stood %q, which is nowhere", a.Name, a.Trust)
		}
	}
}

func (g *judge) age() {
	age := g.now.Time.Sub(g.record.StartedAt)
	switch {
	case g.now.MaxAge == 0:
	case age > g.now.MaxAge:
		g.refuse(verdict.RecordExpired, "it is of %s, %s ago, and %s is the most", g.record.StartedAt.Format(time.RFC3339), age.Round(time.Second), g.now.MaxAge)
	case age < -slack:
		g.refuse(verdict.RecordExpired, "it is of %s, which has not come yet", g.record.StartedAt.Format(time.RFC3339))
	}
}

func (g *judge) signature() {
	if g.now.Keys == nil {
		g.unchecked("signature: --trusted-keys names those who may sign; without it, anybody who can push to the branch could have written the record: this is bookkeeping, not a gate")
		return
	}
	key, err := g.now.Keys.Check(g.record)
	switch {
	case err == nil:
		g.out.SignedBy = key.ID
	case errors.Is(err, attest.ErrUnsigned):
		g.refuse(verdict.RecordUnsigned, "%v", err)
	default:
		g.refuse(verdict.RecordUntrusted, "%v%s", err, named(g.record.Attestation))
	}
}

func named(e *verdict.Envelope) string {
	if e == nil || len(e.Signatures) == 0 {
		return ""
	}
	return fmt.Sprintf(": it names the key %q", e.Signatures[0].KeyID)
}
