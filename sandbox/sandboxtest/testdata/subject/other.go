//go:build unix && !linux

package main

import "errors"

func attack()             { fail(errors.New("boxes hold Linux")) }
func leave()              { attack() }
func found()              { attack() }
func pauseInChild() error { return errors.New("boxes hold Linux") }
func comet() error        { return pauseInChild() }
func size() string        { return "" }
