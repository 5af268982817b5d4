package stage_test

import (
	"strings"
	"testing"

	"github.com/trkr-dev/trkr-validate/stage"
	"github.com/trkr-dev/trkr-validate/verdict"
)

const recordFile = ".trkr/tickets/7/validation.md"

// altered commits a validation.md that is made of the one there.
func (k *kit) altered(change func(text string) string) {
	k.t.Helper()
	k.commit(map[string]string{recordFile: change(k.git("show", "HEAD:"+recordFile) + "\n")})
}

// byRecord changes the record, and writes the file as a run would.
func byRecord(t *testing.T, change func(*verdict.Record)) func(string) string {
	return func(text string) string {
		rec, err := verdict.ParseMarkdown([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		change(&rec)
		out, err := rec.Markdown()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
}

// A file that the gate would refuse for ever is not kept because it says the same.
func TestARecordThatTheGateRefusesIsReplaced(t *testing.T) {
	k := newKit(t, scripted(allMet))
	k.run(verdict.Clear)
	for _, c := range []struct {
		name   string
		change func(string) string
		anew   bool
		kept   bool
	}{
		{name: "as it was", change: byRecord(t, func(r *verdict.Record) { r.RunID += "x" }), kept: true},
		{name: "edited by somebody, or written by another version", change: func(s string) string { return strings.Replace(s, "# Validation", "# Blessing", 1) }},
		{name: "of another image", change: byRecord(t, func(r *verdict.Record) { r.Environment.ImageDigest = "sha256:0" })},
		{name: "that contradicts itself", change: byRecord(t, func(r *verdict.Record) { r.Criteria[0].Evidence = "" })},
		{name: "expired", change: byRecord(t, func(r *verdict.Record) { r.RunID += "y" }), anew: true},
	} {
		k.altered(c.change)
		k.req.RecordAnew = c.anew
		res := k.run(verdict.Clear)
		if kept := res.Recorded != nil && res.Recorded.Commit == ""; kept != c.kept {
			t.Errorf("a file %s: kept %v, want %v", c.name, kept, c.kept)
		}
	}
}

// A record that is not signed is replaced by the signed one, also where a signature of another record stands in it.
func TestASignatureThatDoesNotFitIsReplaced(t *testing.T) {
	k := newKit(t, scripted(allMet))
	k.req.Signer, k.req.SignHost = newSigner(t), true
	k.run(verdict.Clear)
	for name, change := range map[string]func(*verdict.Record){
		"none":             func(r *verdict.Record) { r.Attestation = nil },
		"another record's": func(r *verdict.Record) { r.RunID += "x" },
	} {
		k.altered(byRecord(t, change))
		if res := k.run(verdict.Clear); res.Recorded == nil || res.Recorded.Commit == "" {
			t.Errorf("%s: the file was kept", name)
		}
	}
}

func TestNobodyIsToldToCommitAPrivateKey(t *testing.T) {
	k := newKit(t, scripted(allMet))
	k.write(map[string]string{"release": "-----BEGIN PRIVATE KEY-----\nMC4=\n-----END PRIVATE KEY-----\n"})
	hints := func(res stage.Result) string {
		return strings.Join(res.Refusals[0].Hints, "\n")
	}
	if got := hints(k.run(verdict.Refused)); strings.Contains(got, "commit or remove") || !strings.HasPrefix(got, `move what is a private key out of the checkout, and away from the build: "release"`) {
		t.Error(got)
	}
	k.write(map[string]string{"notes": "x"})
	if got := hints(k.run(verdict.Refused)); !strings.Contains(got, "\ncommit or remove the others") || strings.Contains(got, `"notes"`) {
		t.Error(got)
	}
}
