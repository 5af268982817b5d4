package verdict

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool struct {
			Driver sarifDriver `json:"driver"`
		} `json:"tool"`
		Automation  sarifID           `json:"automationDetails"`
		Invocations []sarifInvocation `json:"invocations"`
		Results     []sarifResult     `json:"results"`
		Properties  map[string]string `json:"properties"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		Version        string      `json:"version,omitempty"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifID struct {
		ID string `json:"id"`
	}
	sarifInvocation struct {
		Successful bool `json:"executionSuccessful"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifRule struct {
		ID    string    `json:"id"`
		Short sarifText `json:"shortDescription"`
	}
	sarifResult struct {
		RuleID       string            `json:"ruleId"`
		RuleIndex    int               `json:"ruleIndex"`
		Level        Level             `json:"level"`
		Message      sarifText         `json:"message"`
		Locations    []sarifLocation   `json:"locations"`
		Fingerprints map[string]string `json:"partialFingerprints"`
	}
	sarifLocation struct {
		Physical struct {
			Artifact struct {
				URI string `json:"uri"`
			} `json:"artifactLocation"`
			Region struct {
				StartLine int `json:"startLine"`
			} `json:"region"`
		} `json:"physicalLocation"`
	}
)

// SARIF writes records in the form of static analysis, version 2.1.0, a run for each: a rule for each assertion that is
// not met and for each other kind of remark. Only what is missing is a result; a clear record has none but notes. where
// tells for each record, in order, where its assertions stand.
func SARIF(records []Record, where []Place) ([]byte, error) {
	log := sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{}}
	for i, r := range records {
		log.Runs = append(log.Runs, r.sarif(where[i]))
	}
	data, err := json.MarshalIndent(log, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing SARIF: %w", err)
	}
	return append(data, '\n'), nil
}

func (r Record) sarif(at Place) sarifRun {
	run := sarifRun{
		Automation: sarifID{"trkr-validate/" + r.Issue + "/"}, Invocations: []sarifInvocation{{r.Outcome != Error}}, Results: []sarifResult{},
		Properties: map[string]string{"outcome": string(r.Outcome), "runId": r.RunID},
	}
	run.Tool.Driver = sarifDriver{Name: "trkr-validate", Version: r.Tool.Version, InformationURI: "https://github.com/trkr-dev/trkr-validate", Rules: []sarifRule{}}
	rules := &run.Tool.Driver.Rules
	for _, m := range r.Remarks(at) {
		index := slices.IndexFunc(*rules, func(x sarifRule) bool { return x.ID == m.Rule })
		if index < 0 {
			index = len(*rules)
			about := m.About
			if about == "" {
				about = strings.ReplaceAll(m.Rule, "_", " ")
			}
			*rules = append(*rules, sarifRule{m.Rule, sarifText{about}})
		}
		result := sarifResult{RuleID: m.Rule, RuleIndex: index, Level: m.Level, Message: sarifText{m.Text}, Fingerprints: map[string]string{"trkrRemark/v1": m.fingerprint(r.Issue)}}
		var location sarifLocation
		location.Physical.Artifact.URI = (&url.URL{Path: m.Path}).String()
		location.Physical.Region.StartLine = m.Line
		result.Locations = []sarifLocation{location}
		run.Results = append(run.Results, result)
	}
	return run
}

// fingerprint is the same for the same remark in the next run: evidence, which holds times, does not count for a
// criterion.
func (m Remark) fingerprint(issue string) string {
	text := m.Text
	if m.About != "" {
		text = m.About
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{issue, m.Rule, text}, "\x00")))
	return hex.EncodeToString(sum[:])
}
