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
	if err == nil {
		return
	}
	why := engine + " cannot be used here: " + err.Error() + " " + strings.Join(detail, " ")
	if Required(engine) {
		t.Fatal(why)
	}
	t.Skip(why)
}
