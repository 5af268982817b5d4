package stage_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/sandbox/sandboxtest"
	"github.com/trkr-dev/trkr-validate/validator"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// Before the build is said what no box can be made of; and what the ticket itself could have made is no userland.
func TestImageIsLookedAtBeforeTheBuild(t *testing.T) {
	k := newKit(t, scripted(allMet))
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(k.dir, link); err != nil {
		t.Fatal(err)
	}
	for image, code := range map[string]string{
		"UPPER": "image_invalid", "artifact:../x": "image_invalid",
		"oci:.trkr/box": "image_of_ticket", "dockerfile:Dockerfile": "image_of_ticket",
		"docker-archive:" + k.dir + "/box.tar": "image_of_ticket", "oci:" + link: "image_of_ticket",
	} {
		k.req.Config.Validate.Image = image
		res := k.run(verdict.Error)
		if res.Failure == nil || res.Failure.Code != code || len(res.Failure.Hints) == 0 || strings.Contains(res.Failure.Step, "build") {
			t.Errorf("%s: %+v", image, res.Failure)
		}
	}
	if _, err := os.Stat(filepath.Join(k.dir, "dist")); err == nil {
		t.Error("it was built")
	}
	k.req.Config.Validate.Image = "oci:elsewhere" // which the engine is to tell of
	k.req.Config.Validate.Mounts = []string{"/srv"}
	k.git("worktree", "add", "-q", "--detach", filepath.Join(filepath.Dir(link), "main"), "main")
	k.req.Dir = filepath.Join(filepath.Dir(link), "main")
	k.run(verdict.Clear)
	spec := k.req.Engine.(*sandboxtest.Fake).Specs()[0]
	if spec.ImageDir != k.req.Dir || len(spec.Mounts) != 0 {
		t.Errorf("a relative path begins at %q, not at %q; mounts %q", spec.ImageDir, k.req.Dir, spec.Mounts)
	}
}

// Wherever the program is called, what a ticket's work is checked out in is no place for an image: not the branch's own
// worktree beside a clean one, not a merge of it, not another ticket's.
func TestImageInACheckoutOfATicket(t *testing.T) {
	for name, stand := range map[string]func(k *kit){
		"the branch, and a clean worktree is built in": func(k *kit) { k.req.Clean = true },
		"a merge of it, as CI makes": func(k *kit) {
			k.req.Ref = k.git("rev-parse", "trkr/7")
			k.git("checkout", "-q", "--detach", "main")
			k.git("merge", "-q", "--no-ff", "-m", "merge", "trkr/7")
		},
		"another branch that builds on it": func(k *kit) { k.git("checkout", "-qb", "more", "trkr/7") },
		"another ticket's branch":          func(k *kit) { k.git("checkout", "-qb", "trkr/8", "main") },
	} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t, scripted(allMet))
			stand(k)
			k.req.Config.Validate.Image = "oci:.trkr/box"
			if res := k.run(verdict.Error); res.Failure == nil || res.Failure.Code != "image_of_ticket" || !res.Failure.Usage {
				t.Errorf("%+v", res.Failure)
			}
		})
	}
	k := newKit(t, scripted(allMet))
	k.git("checkout", "-q", "main")
	k.req.Config.Validate.Image = "oci:.trkr/box"
	k.run(verdict.Clear)
}

// inside is an agent that lives in the box.
type inside struct{ scripted }

func (inside) Trust() validator.Trust { return validator.Inside }

// A product that is an image is judged from outside; what is wrong with the image is the product's fault.
func TestProductThatIsAnImage(t *testing.T) {
	k := newKit(t, inside{allMet})
	k.req.Config.Validate.Image = "artifact:dist/tool"
	if res := k.run(verdict.Error); res.Failure.Code != "image_of_product" {
		t.Errorf("%+v", res.Failure)
	}
	k.req.Agents = []validator.Agent{scripted(allMet)}
	for code, reason := range map[string]verdict.Reason{
		"image_not_found": verdict.ArtifactMissing, "image_unsafe": verdict.ArtifactUnsafe, "image_too_large": verdict.ArtifactTooLarge,
	} {
		k.req.Engine = &sandboxtest.Fake{StartError: fault.Envf(code, []string{"hint"}, "wrong")}
		if res := k.run(verdict.Refused); len(res.Refusals) != 1 || res.Refusals[0].Reason != reason {
			t.Errorf("%s: %+v", code, res.Refusals)
		}
	}
	k.req.Engine = &sandboxtest.Fake{StartError: fault.Envf("no_space", []string{"hint"}, "full")}
	if res := k.run(verdict.Error); res.Failure.Code != "no_space" {
		t.Errorf("%+v", res.Failure)
	}
}
