// Package testengine is the one gate of the tests that need an engine: on a laptop they are passed over with the
// reason, where TRKR_REQUIRE_ENGINES names their engine they fail.
package testengine

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// Required tells whether TRKR_REQUIRE_ENGINES (a list with commas, "docker,gvisor") names an engine: tests that need
// it must then not be passed over.
func Required(engine string) bool {
	return slices.Contains(strings.Split(os.Getenv("TRKR_REQUIRE_ENGINES"), ","), engine)
}

// Require goes on where err is nil. Otherwise the engine cannot be used here: the test fails if the engine is Required,
// else it is skipped with err and detail as the reason.
func Require(t testing.TB, engine string, err error, detail ...string) {
	t.Helper()
	if err != nil {
		passOver(t, engine, engine+" cannot be used here: "+err.Error()+" "+strings.Join(detail, " "))
	}
}

// RequireSubject goes on where err is nil. Otherwise what a test runs on the engine could not be had here, and needs
// says what that takes ("the module proxy"): the test fails or is skipped as with Require.
func RequireSubject(t testing.TB, engine, needs string, err error) {
	t.Helper()
	if err != nil {
		passOver(t, engine, "this test needs "+needs+": "+err.Error())
	}
}

func passOver(t testing.TB, engine, why string) {
	t.Helper()
	if Required(engine) {
		t.Fatal(why)
	}
	t.Skip(why)
}
