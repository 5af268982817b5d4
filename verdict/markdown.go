package verdict

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

const (
	recordHead = "\n## Record\n\n```json\n"
	recordTail = "\n```\n"
	maxListed  = 25 // files of the artifact set that a person is shown
)

// Markdown renders validation.md: an account for people, and the whole record at its end. It depends on the record
// alone, and ParseMarkdown gives the record back. Whatever the record holds, it makes no heading, link, image, HTML,
// fence, table or second record. An error means that the record cannot be written as JSON or has another schema.
func (r Record) Markdown() ([]byte, error) {
	r, data, err := r.canonical()
	if err != nil {
		return nil, fmt.Errorf("rendering validation.md: %w", err)
	}
	return append(append([]byte(r.account()+recordHead), data...), recordTail...), nil
}

func (r Record) account() string {
	var d document
	d.head(r)
	d.criteria(r)
	d.findings(r)
	d.diagnostics(r)
	d.subject(r)
	d.environment(r)
	d.origin(r)
	return d.String()
}

// Account is the part of validation.md that is for people, for places that hold no more than most bytes: what does not
// fit is left out from the end, in whole lines, and that is said.
func (r Record) Account(most int) (string, error) {
	r, _, err := r.canonical()
	if err != nil {
		return "", fmt.Errorf("writing the account: %w", err)
	}
	text := r.account()
	if len(text) <= most {
		return text, nil
	}
	const rest = "\n… and more: this place holds no longer text.\n"
	text = text[:max(0, most-len(rest))]
	return text[:strings.LastIndexByte(text, '\n')+1] + rest, nil
}

// document writes lines. Every text of the record goes through code or known.
type document struct{ strings.Builder }

func (d *document) line(format string, args ...any) { fmt.Fprintf(d, format+"\n", args...) }

func (d *document) section(title string) { d.line("\n## %s\n", title) }

// fact writes a list item, unless there is nothing to say.
func (d *document) fact(name, value string) {
	if value != "" {
		d.line("- %s: %s", name, code(value))
	}
}

// known shows a word of ours in bold, and anything else as the untrusted text that it then is.
func known[T ~string](word T, words ...T) string {
	if slices.Contains(words, word) {
		return "**" + string(word) + "**"
	}
	return code(string(word))
}

func (d *document) head(r Record) {
	d.line("# Validation of %s: %s\n", code(r.Issue), known(r.Outcome, Clear, Blocking, Incomplete, Refused, Error))
	count := map[Status]int{}
	for _, c := range r.Criteria {
		count[c.Status]++
	}
	parts := []string{fmt.Sprintf("%d of %d criteria are met", count[Met], len(r.Criteria))}
	for _, s := range []Status{Unmet, Blocked, Unverified} {
		if n := count[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	d.line("%s.", strings.Join(parts, ", "))
	if slices.ContainsFunc(r.Agents, func(a Agent) bool { return a.Trust == "inside" }) {
		d.line("\nAn agent judged from inside the sandbox: it shared it with the program under test, which may have had a hand in what it said.")
	}
	if r.Subject.Dirty {
		d.line("\nThe worktree held changes that are not in the commit: this is no statement about the commit alone.")
	}
}

func (d *document) criteria(r Record) {
	if len(r.Criteria) == 0 {
		return
	}
	d.section("Criteria")
	for _, c := range r.Criteria {
		d.line("- %s %s: %s", known(c.Status, Met, Unmet, Blocked, Unverified), code(c.ID), code(c.Text))
		if c.Evidence != "" {
			d.line("  - evidence: %s", code(c.Evidence))
		}
		if c.By != "" {
			d.line("  - by: %s", code(c.By))
		}
	}
}

func (d *document) findings(r Record) {
	if len(r.Findings) > 0 {
		d.section("Findings")
	}
	for _, f := range r.Findings {
		place := ""
		if f.Place != "" {
			place = " at " + code(f.Place)
		}
		about := ""
		if len(f.Criteria) > 0 {
			about = " about " + code(strings.Join(f.Criteria, ", "))
		}
		d.line("- %s %s%s%s: %s", known(f.Severity, SeverityBlocking, SeverityNote), code(f.ID), place, about, code(f.Text))
	}
}

func (d *document) diagnostics(r Record) {
	if len(r.Diagnostics) > 0 {
		d.section("Diagnostics")
		d.line("Each of these keeps the outcome from clear.\n")
	}
	for _, x := range r.Diagnostics {
		d.line("- %s: %s", code(x.Code), code(x.Detail))
	}
	if len(r.Refusals) > 0 {
		d.section("Refusals")
	}
	for _, x := range r.Refusals {
		d.line("- %s: %s", code(string(x.Reason)), code(x.Detail))
		for _, h := range x.Hints {
			d.line("  - hint: %s", code(h))
		}
	}
}

func (d *document) subject(r Record) {
	s := r.Subject
	d.section("What was validated")
	d.fact("branch", s.Branch)
	d.fact("commit", s.Commit)
	d.fact("tree", s.Tree)
	d.fact("contract", s.ContractDigest)
	d.fact("contract from", s.ContractSource)
	d.fact("contract accepted by", s.ContractAccepted)
	d.fact("manifest", s.ManifestDigest)
	if len(s.Manifest) > 0 {
		d.line("- paths: %d", len(s.Manifest))
	}
	for i, e := range s.Manifest {
		if i == maxListed {
			d.line("  - and %d more, all in the record below", len(s.Manifest)-i)
			break
		}
		target := ""
		if e.Target != "" {
			target = " to " + code(e.Target)
		}
		d.line("  - %s: %s%s, mode %04o, %d bytes", code(e.Path), code(e.Type), target, e.Mode, e.Size)
	}
}

func (d *document) environment(r Record) {
	e := r.Environment
	d.section("Where and how")
	d.fact("engine", strings.TrimSpace(e.Engine+" "+e.EngineVersion))
	d.fact("chosen because", e.EngineReason)
	d.fact("image", e.Image)
	d.fact("image digest", e.ImageDigest)
	d.fact("userland", e.Userland)
	for _, place := range e.InstallFrom {
		d.fact("the install could reach", place)
	}
	d.table("isolation", e.Isolation)
	d.table("limits", e.Limits)
	d.built(r.Build)
}

func (d *document) built(b Build) {
	switch {
	case b.Where == "container":
		image := b.Image
		if b.ImageDigest != "" {
			image += "@" + b.ImageDigest
		}
		d.line("- built: in a container from %s by %s in %s", code(image), code(strings.TrimSpace(b.Engine+" "+b.EngineVersion)), seconds(b.MS))
		d.table("limits of the build", b.Limits)
	case b.Where != "":
		d.line("- built: on %s in %s", code(b.Where), seconds(b.MS))
	}
}

func (d *document) table(name string, m map[string]string) {
	if len(m) > 0 {
		d.line("- %s:", name)
	}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		d.line("  - %s: %s", code(k), code(m[k]))
	}
}

func (d *document) origin(r Record) {
	d.section("By whom and when")
	for _, a := range r.Agents {
		d.line("- agent: %s, %s", code(strings.TrimSpace(a.Name+" "+a.Version)), known(a.Trust, "outside", "inside"))
	}
	d.fact("verdict of the agents", r.Verdict)
	d.fact("tool", strings.TrimSpace("trkr-validate "+r.Tool.Version))
	d.fact("configuration", strings.TrimSpace(r.Config.Source+" "+r.Config.Ref))
	d.fact("configuration digest", r.Config.Digest)
	d.fact("run", r.RunID)
	if r.Attestation != nil {
		d.signature(r)
	}
	if r.Turn != 0 {
		d.line("- turn: %d", r.Turn)
	}
	d.line("- started: %s", r.StartedAt.Format(time.RFC3339))
	for _, step := range slices.Sorted(maps.Keys(r.Timings)) {
		d.line("- %s took %s", code(step), seconds(r.Timings[step]))
	}
}

// signature names the key. Whether it made the signature is for those to find out who trust it.
func (d *document) signature(r Record) {
	for _, s := range r.Attestation.Signatures {
		d.fact("signed with the key", s.KeyID)
	}
	if r.Build.Where != "container" {
		d.line("  - the build ran on the machine that signed, where it may have read the key")
	}
}

func seconds(ms int64) string { return (time.Duration(ms) * time.Millisecond).String() }
