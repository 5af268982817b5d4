package config

import (
	"slices"
	"testing"
)

func TestDifferNamesWhatTwoFilesMeanDifferently(t *testing.T) {
	parse := func(text string) File {
		f, err := Parse("x", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	for _, c := range []struct {
		a, b string
		want []string
	}{
		{`{}`, `{"other": {"build": 1}}`, nil},
		{`{"validate": {"build_timeout": "20m", "agent": "probe", "artifacts": []}}`, `{"validate": {"build_timeout": "1200s", "agent": ["probe"]}}`, nil},
		{
			`{"validate": {"build": "make"}}`, `{"validate": {"build": "make all", "limits": {"cpus": 3}}, "ticket": {"base": "x"}}`,
			[]string{"ticket.base", "validate.build", "validate.limits.cpus"},
		},
		{`{"validate": {"artifacts": ["a", "b"]}}`, `{"validate": {"artifacts": ["b", "a"]}}`, []string{"validate.artifacts"}},
	} {
		if got := Differ(parse(c.a), parse(c.b)); !slices.Equal(got, c.want) {
			t.Errorf("%s and %s: %q, want %q", c.a, c.b, got, c.want)
		}
	}
}
