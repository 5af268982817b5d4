package verdict

import (
	"encoding/xml"
	"fmt"
	"strings"
)

type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name      string      `xml:"name,attr"`
		Tests     int         `xml:"tests,attr"`
		Failures  int         `xml:"failures,attr"`
		Errors    int         `xml:"errors,attr"`
		Skipped   int         `xml:"skipped,attr"`
		Time      string      `xml:"time,attr"`
		Timestamp string      `xml:"timestamp,attr"`
		Cases     []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string       `xml:"classname,attr"`
		Name    string       `xml:"name,attr"`
		Failure *junitResult `xml:"failure,omitempty"`
		Error   *junitResult `xml:"error,omitempty"`
		Skipped *junitResult `xml:"skipped,omitempty"`
		Output  string       `xml:"system-out,omitempty"` // evidence of what was met
	}
	junitResult struct {
		Type    string `xml:"type,attr"`
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// JUnit is that of one record.
func (r Record) JUnit() ([]byte, error) { return JUnit([]Record{r}) }

// JUnit writes records for programs that show tests, a suite for each: one test for each criterion (failure: unmet;
// error: blocked; skipped: unverified), one for each blocking finding, diagnostic and refusal. A record that is not clear
// always holds a failure or an error. The XML is valid whatever a record holds: what XML cannot carry becomes U+FFFD.
func JUnit(records []Record) ([]byte, error) {
	var all junitSuites
	for _, r := range records {
		all.Suites = append(all.Suites, r.suite())
	}
	body, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing JUnit: %w", err)
	}
	return append([]byte(xml.Header), append(body, '\n')...), nil
}

func (r Record) suite() junitSuite {
	var ms int64
	for _, t := range r.Timings {
		ms += t
	}
	s := junitSuite{
		Name: "trkr-validate " + r.Issue, Time: fmt.Sprintf("%d.%03d", ms/1000, ms%1000),
		Timestamp: r.StartedAt.UTC().Format("2006-01-02T15:04:05"),
	}
	for _, c := range r.Criteria {
		s.criterion(r.Issue, c)
	}
	for _, f := range r.Findings {
		if f.Severity == SeverityBlocking {
			s.failure(r.Issue, "finding "+f.ID, "finding", f.Place+": "+f.Text)
		}
	}
	for _, d := range r.Diagnostics {
		s.error(r.Issue, "diagnostic "+d.Code, d.Code, d.Detail)
	}
	for _, f := range r.Refusals {
		s.error(r.Issue, "refused "+string(f.Reason), string(f.Reason), strings.Join(append([]string{f.Detail}, f.Hints...), "\n"))
	}
	if r.Outcome != Clear && s.Failures+s.Errors == 0 {
		s.error(r.Issue, "outcome", string(r.Outcome), "the outcome is "+string(r.Outcome))
	}
	s.Tests = len(s.Cases)
	return s
}

func (s *junitSuite) criterion(issue string, c Criterion) {
	name := c.ID + ": " + c.Text
	switch c.Status {
	case Met:
		s.Cases = append(s.Cases, junitCase{Class: issue, Name: name, Output: c.Evidence})
	case Unmet:
		s.failure(issue, name, string(c.Status), c.Evidence)
	case Unverified:
		s.Skipped++
		s.Cases = append(s.Cases, junitCase{Class: issue, Name: name, Skipped: explain(string(c.Status), c.Evidence)})
	default:
		s.error(issue, name, string(c.Status), c.Evidence)
	}
}

func (s *junitSuite) failure(issue, name, kind, text string) {
	s.Failures++
	s.Cases = append(s.Cases, junitCase{Class: issue, Name: name, Failure: explain(kind, text)})
}

func (s *junitSuite) error(issue, name, kind, text string) {
	s.Errors++
	s.Cases = append(s.Cases, junitCase{Class: issue, Name: name, Error: explain(kind, text)})
}

// explain keeps the whole text, and its first line for lists of tests.
func explain(kind, text string) *junitResult {
	first, _, _ := strings.Cut(text, "\n")
	return &junitResult{Type: kind, Message: cutBytes(first, 200), Text: text}
}
