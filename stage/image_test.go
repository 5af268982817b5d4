package stage_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

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
	k.req.Config.Validate.Image = "oci:" + filepath.Join(filepath.Dir(link), "elsewhere") // the engine's to tell
	k.run(verdict.Clear)
}
