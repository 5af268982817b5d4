package ready_test

import (
	"testing"

	"github.com/trkr-dev/trkr-validate/internal/ready"
)

func TestParse(t *testing.T) {
	for in, want := range map[string]string{
		"tcp:5432": "127.0.0.1:5432", "tcp:127.0.0.1:1": "127.0.0.1:1", "tcp:[::1]:5432": "[::1]:5432",
		"http://127.0.0.1:8080/health?x=1": "127.0.0.1:8080", "http://localhost/": "127.0.0.1:80", "http://[::1]:9/": "[::1]:9",
		"pg_isready -h 127.0.0.1": "",
	} {
		s, err := ready.Parse(in)
		if err != nil || s.Address != want || (s.Command != "") != (want == "") {
			t.Errorf("%q: %+v, %v", in, s, err)
		}
	}
	for _, in := range []string{
		"", "  ", "tcp:", "tcp:0", "tcp:70000", "tcp:example.com:80", "tcp:8.8.8.8:53", "http://example.com/", "http://10.0.0.1:80/",
		"https://127.0.0.1:8443/", "http://u:p@127.0.0.1/", "http://127.0.0.1:99999/",
	} {
		if s, err := ready.Parse(in); err == nil {
			t.Errorf("%q is taken for %+v", in, s)
		}
	}
}
