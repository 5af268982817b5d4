package redact_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/trkr-dev/trkr-validate/internal/plain"
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

// Any of its characters may be escaped, in either case of letters, as URLs, JSON and our own logs do it.
func TestSecretsAreTakenOutOfEscapes(t *testing.T) {
	const secret = "p/ss w\u00f6rd+\"1%2\"\x01\\"
	r := redact.New(secret)
	quoted, err := json.Marshal(secret)
	if err != nil {
		t.Fatal(err)
	}
	every := ""
	for i := range len(secret) {
		every += fmt.Sprintf("%%%02x", secret[i])
	}
	for _, in := range []string{
		url.QueryEscape(secret), url.PathEscape(secret), strings.ToLower(url.QueryEscape(secret)), every, strings.ToUpper(every),
		string(quoted[1 : len(quoted)-1]), `p\/ss w\u00F6rd+\"1%2\"\u0001\\`, string(plain.Escape([]byte(secret))),
		"p/ss%20w\u00f6rd+\"1%252\"\x01\\",
	} {
		if got := r.String("<" + in + ">"); got != "<[REDACTED]>" {
			t.Errorf("%q gave %q", in, got)
		}
		var out bytes.Buffer
		w := r.Writer(&out)
		for i := range len(in) {
			if _, err := w.Write([]byte{in[i]}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil || out.String() != redact.Mark {
			t.Errorf("%q byte by byte gave %q", in, out.String())
		}
	}
	for _, in := range []string{"p%2", "p%2Gss", url.QueryEscape(secret[:len(secret)-1]), "%"} {
		if got := r.String(in); got != in {
			t.Errorf("%q gave %q", in, got)
		}
	}
}

// Tools break base64 into lines, and logs stand between the lines of a key.
func TestSecretsOfSeveralLines(t *testing.T) {
	secret := strings.Repeat("0123456789abcdef", 8)
	r := redact.New(secret, "-----BEGIN KEY-----\nMIIEabcdef\r\nx\n-----END KEY-----\n")
	text := base64.StdEncoding.EncodeToString([]byte("key=" + secret + "!!"))
	for _, br := range []string{"\n", "\r\n"} {
		in := text[:76] + br + text[76:152] + br + text[152:]
		if got := r.String(in); len(got) > 30 || !strings.Contains(got, redact.Mark) {
			t.Errorf("gave %q", got)
		}
	}
	if got := r.String("  out| -----BEGIN KEY-----\n  out| MIIEabcdef\n  out| x\n"); got != "  out| [REDACTED]\n  out| [REDACTED]\n  out| x\n" {
		t.Errorf("gave %q", got)
	}
}

// However a stream is cut into writes, the result is that of the whole.
func TestWritesMayBeCutAnywhere(t *testing.T) {
	r := redact.New("ababab", "abababab!", "secret", "50% a+b%41\\n")
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.StringOf(rapid.RuneFrom([]rune("abc!secrt%+4150n\\ \n\r2B")))).Draw(t, "parts")
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
