package redact_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/trkr-dev/trkr-validate/internal/redact"
	"pgregory.net/rapid"
)

func TestSecretsAreTakenOut(t *testing.T) {
	r := redact.New("s3cret-token", "s3cret-token-longer", `quo"ted`, "short")
	for in, want := range map[string]string{
		"nothing here":           "nothing here",
		"a s3cret-token b":       "a [REDACTED] b",
		"s3cret-token-longer":    "[REDACTED]",
		`{"v":"quo\"ted"}`:       `{"v":"[REDACTED]"}`,
		"short stays":            "short stays",
		"s3cret-toke":            "s3cret-toke",
		"s3s3cret-token":         "s3[REDACTED]",
		"s3cret-tokens3cret-tok": "[REDACTED]s3cret-tok",
	} {
		if got := r.String(in); got != want {
			t.Errorf("String(%q) = %q, want %q", in, got, want)
		}
	}
}

// However a stream is cut into writes, the result is that of the whole.
func TestWritesMayBeCutAnywhere(t *testing.T) {
	r := redact.New("ababab", "abababab!", "secret")
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.StringOf(rapid.RuneFrom([]rune("abc!secrt")))).Draw(t, "parts")
		parts = append(parts, "sec", "ret", "aba", "bab")
		var out bytes.Buffer
		w := r.Writer(&out)
		for _, p := range parts {
			if _, err := w.Write([]byte(p)); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if want := r.String(strings.Join(parts, "")); out.String() != want {
			t.Fatalf("cut into %q gave %q, whole gives %q", parts, out.String(), want)
		}
		if strings.Contains(out.String(), "secret") {
			t.Fatalf("a secret got through: %q", out.String())
		}
	})
}
