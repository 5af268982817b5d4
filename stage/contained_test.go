package stage_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/sandbox/sandboxtest"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// contained is a kit that builds in a container of the fake engine.
func contained(t *testing.T) (*kit, *sandboxtest.Fake) {
	k := newKit(t, scripted(allMet))
	fake := k.req.Engine.(*sandboxtest.Fake)
	k.req.Config.Validate.BuildImage = "example.com/tools:1"
	return k, fake
}

// A build in a container is judged like one on the host, and the record says where it ran.
func TestContainedBuild(t *testing.T) {
	k, fake := contained(t)
	k.req.Config.Validate.Build += "; [ ! -e .git ] && [ ! -e .trkr/runs ] && echo new >>tool"
	k.write(map[string]string{"dist/tool": "of an earlier build", "dist/stale": "too"})
	res := k.run(verdict.Clear)
	b := res.Record.Build
	if b.Where != "container" || b.Image != "example.com/tools:1" || b.ImageDigest != "sha256:0f" || b.Engine != "fake" {
		t.Errorf("the record says %+v", b)
	}
	if built := fake.Builds(); len(built) != 1 || built[0].Limits.Memory != 1<<30 || built[0].Timeout == 0 || len(built[0].Cache) != 16 || slices.ContainsFunc(built[0].Env, func(v string) bool { return strings.HasPrefix(v, "HOME=/") && v != "HOME="+sandbox.BuildHome }) {
		t.Errorf("%+v", built)
	}
	if made, err := os.ReadFile(filepath.Join(k.dir, "dist/tool")); err != nil || string(made) != "#!/bin/sh\necho hello\n" {
		t.Errorf("dist/tool holds %q, %v", made, err)
	}
	if stale, err := os.ReadFile(filepath.Join(k.dir, "dist/stale")); err != nil || string(stale) != "too" {
		t.Errorf("dist/stale holds %q, %v", stale, err)
	}
	if len(res.Record.Subject.Manifest) != 2 { // dist and dist/tool
		t.Errorf("manifest %+v", res.Record.Subject.Manifest)
	}
	if f := res.Record.Findings; len(f) != 1 || !strings.Contains(f[0].Text, `"tool"`) || !strings.Contains(f[0].Text, "container") {
		t.Errorf("findings %+v", f)
	}
	md := k.git("show", "trkr/7:.trkr/tickets/7/validation.md")
	if !strings.Contains(md, "built: in a container from `example.com/tools:1@sha256:0f` by `fake 0`") {
		t.Errorf("validation.md:\n%s", md)
	}
	if status := k.git("status", "--porcelain"); status != "" {
		t.Errorf("the worktree has changes: %s", status)
	}
}

func TestContainedBuildRefusals(t *testing.T) {
	k, _ := contained(t)
	k.write(map[string]string{"dist/tool": "of an earlier build"})
	for command, want := range map[string]verdict.Reason{
		"exit 3": verdict.BuildFailed, "true": verdict.ArtifactMissing, "mkdir -p dist && ln -s /etc/passwd dist/x": verdict.ArtifactUnsafe,
		"mkdir -p dist && mkfifo dist/x": verdict.ArtifactUnsafe, "mkdir -p dist && head -c 2000000000 /dev/zero >dist/x": verdict.ArtifactTooLarge,
	} {
		k.req.Config.Validate.Build = command
		res := k.run(verdict.Refused)
		if got := reasons(res); len(got) != 1 || got[0] != want || len(res.Refusals[0].Hints) == 0 {
			t.Errorf("%s: %+v", command, res.Refusals)
		}
		if was, err := os.ReadFile(filepath.Join(k.dir, "dist/tool")); command == "true" && (err != nil || string(was) != "of an earlier build") {
			t.Errorf("%s: %q, %v", command, was, err)
		}
	}
}

// An image that the ticket could have made, or an engine that cannot build, is said before anything is built.
func TestContainedBuildThatCannotBe(t *testing.T) {
	k, fake := contained(t)
	k.req.Config.Validate.BuildImage = "dockerfile:Dockerfile"
	if res := k.run(verdict.Error); res.Failure.Code != "image_of_ticket" || res.ExitCode() != 5 {
		t.Errorf("%+v", res.Failure)
	}
	k.req.Config.Validate.BuildImage = "example.com/tools:1"
	k.req.Engine = struct{ sandbox.Engine }{fake} // no Builder
	if res := k.run(verdict.Error); res.Failure.Code != "build_image_unavailable" || res.ExitCode() != 5 {
		t.Errorf("%+v", res.Failure)
	}
	if len(fake.Builds()) > 0 {
		t.Error("it was built")
	}
}
