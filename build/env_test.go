package build

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/trkr-dev/trkr-validate/internal/fault"
)

func TestEnvironment(t *testing.T) {
	caller := []string{
		"PATH=/bin", "HOME=/h", "LC_ALL=C", "XDG_CACHE_HOME=/c", "https_proxy=p", "SSL_CERT_FILE=f", "GOPATH=/g", "GOFLAGS=-a=b", "RUSTUP_HOME=/r",
		"npm_config_registry=r", "CI=true", "EMPTY=", "NODE_ENV=test", "TRKR_ISSUE=forged",
		// None of these reaches a build.
		"GOAUTH=netrc", "GOOGLE_API_KEY=k", "GOOGLEKEY=k", "GO_SECRET=k", "GORELEASER_KEY=k", "AWS_SECRET_ACCESS_KEY=k", "GIT_DIR=/x", "GITHUB_TOKEN=k", "SSH_AUTH_SOCK=s",
		"npm_config__authToken=k", "LD_PRELOAD=l", "BASH_ENV=b", "=C:=x", "junk",
	}
	got, err := Environment(caller, []string{"NODE_ENV", "A=b=c", "EMPTY", "PATH=/opt/bin", "TRKR_COMMIT=forged"}, "7", "trkr/7", "c0ffee")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"A=b=c", "CI=true", "EMPTY=", "GOFLAGS=-a=b", "GOPATH=/g", "HOME=/h", "LC_ALL=C", "NODE_ENV=test", "PATH=/opt/bin", "RUSTUP_HOME=/r", "SSL_CERT_FILE=f",
		"TRKR_BRANCH=trkr/7", "TRKR_COMMIT=c0ffee", "TRKR_ISSUE=7", "XDG_CACHE_HOME=/c", "https_proxy=p", "npm_config_registry=r",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestEnvironmentRefuses(t *testing.T) {
	for extra, code := range map[string]string{"ABSENT": "env_not_set", "": "env_invalid", "=x": "env_invalid", "A=\x00": "env_invalid", "GIT_DIR=/x": "env_invalid", "GIT_DIR": "env_invalid"} {
		_, err := Environment([]string{"PATH=/bin", "GIT_DIR=/y"}, []string{extra}, "7", "b", "c")
		if f := fault.Of(err); f == nil || !f.Usage || f.Code != code || len(f.Hints) == 0 {
			t.Errorf("%q: %v", extra, err)
		}
	}
}

// What the list says is what a real build sees.
func TestBuildSeesOnlyItsEnvironment(t *testing.T) {
	t.Setenv("TRKR_TEST_SECRET", "s3cret")
	t.Setenv("GIT_AUTHOR_NAME", "somebody")
	r := request(t, "env")
	var log bytes.Buffer
	r.Log = &log
	if _, err := Run(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(log.String(), "s3cret") || strings.Contains(log.String(), "GIT_") {
		t.Errorf("leaked:\n%s", log.String())
	}
}
