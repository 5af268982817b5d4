// Command files serves the files of a directory over HTTP.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"path"
	"strings"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "address to listen on")
	flag.Usage = func() { fmt.Fprintln(os.Stderr, "usage: files [-addr ADDRESS] DIR") }
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := serve(*addr, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "files:", err)
		os.Exit(1)
	}
}

func serve(addr, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	fmt.Println("listening on", l.Addr())
	files := http.FileServer(http.Dir(dir))
	return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/-/health":
			w.Header().Set("Content-Type", "application/json")
			json.NewEncoder(w).Encode(map[string]any{"ok": true, "files": len(entries)})
		case hidden(r.URL.Path):
			http.Error(w, "hidden", http.StatusForbidden)
		default:
			files.ServeHTTP(w, r)
		}
	}))
}

// hidden tells whether a path leads through a name that begins with a dot.
func hidden(p string) bool {
	return strings.Contains(path.Clean(p), "/.")
}
