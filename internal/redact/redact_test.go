package redact_test

import (
	"bytes"
	"encoding/base64"
	"slices"
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

// Whatever stands beside it, a secret that was encoded with it does not get through.
func TestSecretsAreTakenOutOfBase64(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringN(6, 40, 80).Draw(t, "secret")
		before := rapid.SliceOfN(rapid.Byte(), 0, 7).Draw(t, "before")
		after := rapid.SliceOfN(rapid.Byte(), 0, 7).Draw(t, "after")
		r := redact.New(secret)
		for _, e := range []*base64.Encoding{base64.StdEncoding, base64.RawURLEncoding} {
			in := e.EncodeToString(slices.Concat(before, []byte(secret), after))
			got := r.String("x " + in)
			kept, rest, found := strings.Cut(got, redact.Mark)
			// At each end it shares at most a character or two with what stands there.
			if !found || len(kept)+len(rest) > len(in)+2-(8*len(secret)/6-2) {
				t.Fatalf("%q, of which %q is secret, gave %q", in, secret, got)
			}
		}
	})
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
