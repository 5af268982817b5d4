package pattern

import "testing"

func TestRegexp(t *testing.T) {
	broken := Regexp(`(`) // compiled by nobody yet
	if got := Regexp(`b+`)().FindString("abba"); got != "bb" {
		t.Errorf("%q", got)
	}
	defer func() {
		if recover() == nil {
			t.Error("an expression that is none was compiled")
		}
	}()
	broken()
}
