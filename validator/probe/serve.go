package probe

import (
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// Answers is met by a command that goes on running and answers one HTTP request so.
type Answers struct {
	Method string
	URL    string // http, an address of loopback and a port
	Status int
	Tests  []Test // of the body
	JSON   []JSON // likewise
}

func (o Answers) String() string {
	s := "answers `" + o.Method + " " + o.URL + "` with " + strconv.Itoa(o.Status)
	for _, t := range o.Tests {
		s += " and a body that " + t.String()
	}
	for _, j := range o.JSON {
		s += " and a body that is " + j.String()
	}
	return s
}

// serving reads "answers `GET URL` with 200 ...".
func (p *parser) serving(f form, not bool) ([]Outcome, got) {
	from := p.i
	var o Answers
	var ok bool
	switch {
	case not:
		return nil, no
	case p.verb(f, "answer to|answer|respond to|reply to|serve"):
		if o, ok = p.request(); !ok {
			return nil, bad
		}
		if !p.words("with") {
			return nil, p.missed(p.i, `"with" and a status such as 200`)
		}
		if o.Status, ok = p.status(); !ok {
			return nil, bad
		}
	case p.verb(f, "return"):
		status, ok := p.status()
		if !ok || !p.any("for|to") {
			p.i = from
			return nil, no
		}
		if o, ok = p.request(); !ok {
			return nil, bad
		}
		o.Status = status
	default:
		return nil, no
	}
	for {
		save := p.i
		p.is(comma)
		p.any("and|with")
		p.words("with")
		if !p.any("a body|body|the body|a response body|a response") || p.i == save {
			p.i = save
			return []Outcome{o}, yes
		}
		if !p.body(&o) {
			return nil, bad
		}
	}
}

// request reads `GET http://127.0.0.1:8080/path`.
func (p *parser) request() (Answers, bool) {
	t := p.at(p.i)
	method, link, ok := strings.Cut(t.text, " ")
	if t.kind != code || !ok {
		p.miss(p.i, "a request in backticks, like `GET http://127.0.0.1:8080/`")
		return Answers{}, false
	}
	link = strings.TrimSpace(link)
	switch u, err := url.Parse(link); {
	case method != "GET" && method != "HEAD" && method != "POST" && method != "PUT" && method != "DELETE" && method != "OPTIONS":
		p.refuse(p.i, "one of GET, HEAD, POST, PUT, DELETE, OPTIONS")
	case err != nil || u.Scheme != "http" || u.User != nil || u.Fragment != "" || !loopback(u) || strings.ContainsAny(link, " \t\r\n`"):
		p.refuse(p.i, "an address on loopback with a port, like http://127.0.0.1:8080/")
	default:
		p.i++
		return Answers{Method: method, URL: link}, true
	}
	return Answers{}, false
}

func loopback(u *url.URL) bool {
	port, err := strconv.Atoi(u.Port())
	if err != nil || port < 1 || port > 65535 {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() == "localhost" || err == nil && ip.IsLoopback()
}

// status reads [status [code]] 200 [OK].
func (p *parser) status() (int, bool) {
	p.any("status code|http status|a status of|status|http|a")
	n, ok := p.digits()
	if !ok || n < 200 || n > 599 {
		p.miss(p.i, "a status from 200 to 599")
		return 0, false
	}
	p.i++
	if name := lower(http.StatusText(n)); name != "" {
		p.words(name)
	}
	return n, true
}

// body reads what a body is said to be.
func (p *parser) body(o *Answers) bool {
	var t Test
	ok, found := true, true
	switch {
	case p.words("containing"):
		t.Rel = Contains
		t.Text, ok = p.text()
	case p.words("matching"):
		t, ok = p.expression()
	case p.isText(p.i):
		t.Rel = Is
		t.Text, ok = p.text()
	case p.any("that is|of"):
		if j, g := p.json(); g != no {
			o.JSON = append(o.JSON, j)
			return g == yes
		}
		p.words("exactly")
		t.Rel = Is
		t.Text, ok = p.text()
	case p.words("that"):
		t, ok, found = p.test(finite)
	default:
		found = false
	}
	if !found {
		p.miss(p.i, `"containing" and a text`)
	}
	o.Tests = append(o.Tests, t)
	return ok && found
}
