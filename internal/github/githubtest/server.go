// Package githubtest plays the part of GitHub's API that this program uses, on this machine.
package githubtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
)

// Server is one repository, o/r, on an Enterprise server. Its fields are set before it is asked.
type Server struct {
	*httptest.Server
	Token  string         // demanded of every call; empty: none is
	Login  string         // whose it is; empty: a workflow's, which may not ask
	Issues map[int]string // bodies
	Pulls  []int          // which of them are pull requests
	Answer func(w http.ResponseWriter, r *http.Request) bool

	mu       sync.Mutex
	next     int
	Checks   []*Check
	Comments []*Comment
}

// Check is a check run as it was published.
type Check struct {
	ID                       int
	Name, SHA                string
	Status, Conclusion       string
	Title, Summary           string
	Annotations              []Annotation
	Calls, LargestOfOneBatch int
}

// Annotation is one of a check run.
type Annotation struct {
	Path    string `json:"path"`
	Start   int    `json:"start_line"`
	End     int    `json:"end_line"`
	Level   string `json:"annotation_level"`
	Title   string `json:"title"`
	Message string `json:"message"`
}

// Comment is one of a pull request.
type Comment struct {
	ID, Pull    int
	Login, Body string
}

// New starts a server. Close it.
func New() *Server {
	s := &Server{Issues: map[int]string{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v3/repos/o/r/issues/{n}", s.issue)
	mux.HandleFunc("GET /api/v3/user", s.user)
	mux.HandleFunc("GET /api/v3/repos/o/r/issues/{n}/comments", s.list)
	mux.HandleFunc("POST /api/v3/repos/o/r/issues/{n}/comments", s.comment)
	mux.HandleFunc("PATCH /api/v3/repos/o/r/issues/comments/{id}", s.edit)
	mux.HandleFunc("POST /api/v3/repos/o/r/check-runs", s.check)
	mux.HandleFunc("PATCH /api/v3/repos/o/r/check-runs/{id}", s.check)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.Answer != nil && s.Answer(w, r) {
			return
		}
		if s.Token != "" && r.Header.Get("Authorization") != "Bearer "+s.Token {
			fail(w, http.StatusUnauthorized, "Bad credentials")
			return
		}
		mux.ServeHTTP(w, r)
	}))
	return s
}

// API is the address that the client is given.
func (s *Server) API() string { return s.URL + "/api/v3" }

func fail(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	fmt.Fprintf(w, `{"message": %q}`, text)
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		panic(err)
	}
}

func number(r *http.Request, name string) int {
	n, _ := strconv.Atoi(r.PathValue(name))
	return n
}

func (s *Server) issue(w http.ResponseWriter, r *http.Request) {
	n := number(r, "n")
	body, ok := s.Issues[n]
	if !ok {
		fail(w, http.StatusNotFound, "Not Found")
		return
	}
	out := map[string]any{"number": n, "body": body}
	for _, p := range s.Pulls {
		if p == n {
			out["pull_request"] = map[string]any{"url": "x"}
		}
	}
	reply(w, out)
}

func (s *Server) login() string {
	if s.Login == "" {
		return "github-actions[bot]"
	}
	return s.Login
}

func (s *Server) user(w http.ResponseWriter, _ *http.Request) {
	if s.Login == "" {
		fail(w, http.StatusForbidden, "Resource not accessible by integration")
		return
	}
	reply(w, map[string]any{"login": s.Login})
}

func (c *Comment) json() map[string]any {
	return map[string]any{"id": c.ID, "body": c.Body, "user": map[string]any{"login": c.Login}}
}

// list gives two comments a page, whatever it is asked for.
func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	page, _ := strconv.Atoi(r.URL.Query().Get("page"))
	page = max(page, 1)
	var of []*Comment
	for _, c := range s.Comments {
		if c.Pull == number(r, "n") {
			of = append(of, c)
		}
	}
	from, to := min(2*page-2, len(of)), min(2*page, len(of))
	if to < len(of) {
		w.Header().Set("Link", fmt.Sprintf(`<%s%s?page=%d>; rel="next"`, s.URL, r.URL.Path, page+1))
	}
	out := []any{}
	for _, c := range of[from:to] {
		out = append(out, c.json())
	}
	reply(w, out)
}

func (s *Server) comment(w http.ResponseWriter, r *http.Request) {
	var in Comment
	if json.NewDecoder(r.Body).Decode(&in) != nil || len(in.Body) > 65535 {
		fail(w, http.StatusUnprocessableEntity, "Validation Failed")
		return
	}
	s.next++
	c := &Comment{ID: s.next, Pull: number(r, "n"), Login: s.login(), Body: in.Body}
	s.Comments = append(s.Comments, c)
	w.WriteHeader(http.StatusCreated)
	reply(w, c.json())
}

func (s *Server) edit(w http.ResponseWriter, r *http.Request) {
	for _, c := range s.Comments {
		if c.ID == number(r, "id") {
			if err := json.NewDecoder(r.Body).Decode(c); err != nil || len(c.Body) > 65535 {
				fail(w, http.StatusUnprocessableEntity, "Validation Failed")
				return
			}
			reply(w, c.json())
			return
		}
	}
	fail(w, http.StatusNotFound, "Not Found")
}

// check takes what makes or changes a check run, by the rules that the API has for it.
func (s *Server) check(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Name       string
		SHA        string `json:"head_sha"`
		Status     string
		Conclusion string
		Output     struct {
			Title, Summary string
			Annotations    []Annotation
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	var of *Check
	for _, c := range s.Checks {
		if c.ID == number(r, "id") {
			of = c
		}
	}
	if of == nil {
		s.next++
		of = &Check{ID: s.next, Name: in.Name, SHA: in.SHA}
		s.Checks = append(s.Checks, of)
	}
	wrong := len(in.Output.Annotations) > 50 || len(in.Output.Summary) > 65535 || in.Output.Title == "" || in.Status == "completed" && in.Conclusion == ""
	for _, a := range in.Output.Annotations {
		wrong = wrong || a.Path == "" || a.Start < 1 || a.End < a.Start || a.Message == "" || len(a.Message) > 64<<10 || len(a.Title) > 255 ||
			!strings.Contains("notice warning failure", a.Level) || a.Level == ""
	}
	if wrong {
		fail(w, http.StatusUnprocessableEntity, "Invalid request")
		return
	}
	if in.Status != "" {
		of.Status, of.Conclusion = in.Status, in.Conclusion
	}
	of.Title, of.Summary = in.Output.Title, in.Output.Summary
	of.Annotations = append(of.Annotations, in.Output.Annotations...)
	of.Calls++
	of.LargestOfOneBatch = max(of.LargestOfOneBatch, len(in.Output.Annotations))
	w.WriteHeader(http.StatusCreated)
	reply(w, map[string]any{"id": of.ID})
}
