//go:build unix && !linux

package main

import "errors"

var linuxVerbs map[string]func([]string)

func pauseInChild() error { return errors.New("boxes hold Linux") }
func comet() error        { return pauseInChild() }
func size() string        { return "" }
