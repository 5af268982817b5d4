package stage_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/trkr-dev/trkr-validate/artifact"
	"github.com/trkr-dev/trkr-validate/attest"
	"github.com/trkr-dev/trkr-validate/stage"
	"github.com/trkr-dev/trkr-validate/verdict"
)

func newSigner(t *testing.T) *attest.Signer {
	t.Helper()
	private, _, err := attest.Generate()
	if err != nil {
		t.Fatal(err)
	}
	s, err := attest.ParseSigner(private)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// What a build on this machine could have read signs nothing, unless somebody says so, and that is told before the build.
func TestAHostBuildIsSignedOnlyOnDemand(t *testing.T) {
	k := newKit(t, scripted(allMet))
	k.run(verdict.Clear)
	k.req.Signer = newSigner(t)
	build := k.req.Config.Validate.Build
	k.req.Config.Validate.Build = "touch dist/ran; exit 1"
	res := k.run(verdict.Error)
	if hints := strings.Join(res.Failure.Hints, "\n"); res.ExitCode() != 5 || !strings.Contains(hints, "--sign-host-build") || !strings.Contains(hints, "validate.build_image") {
		t.Errorf("%+v", res.Failure)
	}
	k.req.Config.Validate.Build = build
	// The same verdict, signed, is another: it is recorded once more, and then no more.
	k.req.SignHost = true
	keys := attest.Keys{k.req.Signer.Public()}
	if res = k.run(verdict.Clear); res.Recorded == nil || res.Recorded.Commit == "" {
		t.Fatal("the signed record was not committed beside the unsigned one")
	}
	if _, err := keys.Check(*res.Record); err != nil {
		t.Errorf("what is handed out is not what was signed: %v", err)
	}
	for _, text := range []string{k.git("show", "trkr/7:.trkr/tickets/7/validation.md"), k.git("show", "HEAD:.trkr/tickets/7/validation.md")} {
		rec, err := verdict.ParseMarkdown([]byte(text + "\n"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := keys.Check(rec); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(filepath.Join(res.RunDir, "attestation.json")); err != nil {
		t.Error(err)
	}
	if res = k.run(verdict.Clear); res.Recorded == nil || res.Recorded.Commit != "" {
		t.Error("the same signed record was committed twice")
	}
	k.req.Signer = newSigner(t)
	if res = k.run(verdict.Clear); res.Recorded == nil || res.Recorded.Commit == "" {
		t.Error("another key's signature was taken for this one's")
	}
}

// A record that never came to a judgement is nobody's word.
func TestARefusalIsNotSigned(t *testing.T) {
	k := newKit(t, scripted(allMet))
	k.req.Signer, k.req.SignHost = newSigner(t), true
	k.req.Config.Validate.Build = "exit 1"
	if res := k.run(verdict.Refused); res.Record.Attestation != nil {
		t.Error("a refusal is signed")
	}
}

// Sealing again gives what the run sealed, and starts no box.
func TestSealGivesWhatARunSeals(t *testing.T) {
	k := newKit(t, scripted(allMet))
	want := k.run(verdict.Clear).Record.Subject
	k.req.Clean = true
	res, got := stage.Seal(t.Context(), k.req)
	if got == nil {
		t.Fatalf("%+v", res)
	}
	if got.Tree != want.Tree || artifact.Digest(got.Manifest) != want.ManifestDigest {
		t.Errorf("%+v, want %+v", got, want)
	}
	if out := k.git("worktree", "list"); strings.Count(out, "\n") > 0 {
		t.Errorf("a worktree is left: %s", out)
	}
	k.req.Config.Validate.Build = "exit 1"
	if res, got := stage.Seal(t.Context(), k.req); got != nil || res.Outcome != verdict.Refused || !slices.Contains(reasons(res), verdict.BuildFailed) {
		t.Errorf("%+v %+v", res, got)
	}
}
