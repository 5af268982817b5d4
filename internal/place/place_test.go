package place

import "testing"

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"example.com:443": "example.com:443", "EXAMPLE.com.:443": "example.com:443", "[::1]:8080": "[::1]:8080", "10.0.0.1:1": "10.0.0.1:1",
		"": "", "example.com": "", ":443": "", "*.example.com:443": "", "example.com:0": "", "example.com:65536": "", "example.com:0443": "", "example.com:https": "",
		"https://example.com:443": "", "user@example.com:443": "", "a b:443": "", "[fe80::1%eth0]:443": "",
	} {
		if got, err := Parse(text); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}
