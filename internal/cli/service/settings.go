package service

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/named"
)

// variablePrefix begins the names of the environment variables that set flags.
const variablePrefix = "NOREGRET_"

// settings gives the flags that the command line leaves out their values from environment variables
// and from a file, in this order. A variable's name is NOREGRET_ and the flag's in capitals, with _
// for -; an empty one is not set. The file is YAML, with the flags' names as keys.
type settings struct {
	flags *pflag.FlagSet
	names []string
	// file is the value of --config.
	file string
	// environment is that of the process; tests replace it.
	environment func() []string
	// from has the places of the values that are not from the command line, by flag.
	from map[string]string
}

// AddFlags declares --config. The flags that are declared in f before it can be set.
func (s *settings) AddFlags(f *pflag.FlagSet) {
	f.VisitAll(func(f *pflag.Flag) { s.names = append(s.names, f.Name) })
	f.StringVar(&s.file, "config", "", "YAML file of these flags; flags and NOREGRET_ variables go before it")
	s.flags, s.environment, s.from = f, os.Environ, map[string]string{}
}

// Configure implements [command.Configured].
func (s *settings) Configure() error {
	variables := map[string]string{}
	for _, v := range s.environment() {
		if name, value, _ := strings.Cut(v, "="); strings.HasPrefix(name, variablePrefix) && value != "" {
			variables[name] = value
		}
	}
	if !s.flags.Changed("config") {
		s.file = variables[variable("config")]
	}
	file, err := s.readFile()
	if err != nil {
		return err
	}
	for _, name := range s.names {
		value, isVariable := variables[variable(name)]
		y := file[name]
		switch {
		case s.flags.Changed(name):
		case isVariable:
			values := []string{value}
			if _, ok := s.flags.Lookup(name).Value.(pflag.SliceValue); ok {
				values = strings.Split(value, ",")
			}
			err = s.set(noregret.Usage, name, variable(name), values)
		case y != nil:
			var values []string
			place := s.file + ":" + strconv.Itoa(y.Line) + ": " + name
			if values, err = s.values(place, name, y); err == nil {
				err = s.set(noregret.BadInput, name, place, values)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// variable returns the name of the variable that sets a flag.
func variable(flag string) string {
	return variablePrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// Unknown returns the names of variables that look as if they set a flag and set none: those that
// begin with NOREGRET_, except those of clients and those that Kubernetes makes for a service.
func (s *settings) Unknown() []string {
	var out []string
	for _, v := range s.environment() {
		name, _, _ := strings.Cut(v, "=")
		rest, ok := strings.CutPrefix(name, variablePrefix)
		known := rest == "TOKEN" || rest == "TOKEN_FILE" || rest == "SERVER" || rest == "PORT" ||
			strings.HasPrefix(rest, "PORT_") || strings.HasPrefix(rest, "SERVICE_") || name == variable("config") ||
			slices.ContainsFunc(s.names, func(flag string) bool { return name == variable(flag) })
		if ok && !known {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// set sets a flag.
func (s *settings) set(code noregret.Code, name, place string, values []string) error {
	v := s.flags.Lookup(name).Value
	for i := range values {
		values[i] = strings.TrimSpace(values[i])
	}
	var err error
	if list, ok := v.(pflag.SliceValue); ok {
		err = list.Replace(values)
	} else {
		err = v.Set(values[0])
	}
	if err != nil {
		return noregret.Errorf(code, place, "%s", command.PlainFlagError(strconv.Quote(values[0])+": "+err.Error()))
	}
	s.from[name] = place
	return nil
}

// Locate implements [command.Configured].
func (s *settings) Locate(err error) error {
	e, ok := errors.AsType[*noregret.Error](err)
	if !ok {
		return err
	}
	flag := strings.ReplaceAll(strings.TrimPrefix(e.Place, "--"), " ", "-")
	if place := s.from[flag]; place != "" {
		return noregret.Errorf(e.Code, place, "%s", e.Message)
	}
	return err
}

// readFile reads the file and returns the values by flag.
func (s *settings) readFile() (map[string]*yaml.Node, error) {
	if s.file == "" {
		return nil, nil
	}
	data, err := os.ReadFile(s.file)
	if err != nil {
		return nil, noregret.Errorf(noregret.NotFound, s.file, "the configuration cannot be read: %w", err)
	}
	bad := func(line int, format string, args ...any) error {
		return noregret.BadInputf(s.file+":"+strconv.Itoa(line), format, args...)
	}
	var doc, more yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(data))
	switch err := d.Decode(&doc); {
	case errors.Is(err, io.EOF): // nothing but comments
		return nil, nil
	case err != nil:
		return nil, noregret.BadInputf(s.file, "not valid YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if err := d.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, bad(max(more.Line, 1), "a second document: want one")
	}
	top := doc.Content[0]
	if top.Tag == "!!null" {
		return nil, nil
	}
	if top.Kind != yaml.MappingNode {
		return nil, bad(top.Line, "want flags and their values, such as \"listen: 127.0.0.1:8430\"")
	}
	out := map[string]*yaml.Node{}
	for i := 0; i+1 < len(top.Content); i += 2 {
		key := top.Content[i]
		if _, err := named.Find("", key.Value, s.names, func(n *string) string { return *n }); err != nil {
			e, _ := errors.AsType[*noregret.Error](err)
			return nil, bad(key.Line, "no flag can be set by the key %s", e.Message)
		}
		if was := out[key.Value]; was != nil {
			return nil, bad(key.Line, "%s is there already, on line %d", key.Value, was.Line)
		}
		out[key.Value] = top.Content[i+1]
	}
	return out, nil
}

// values returns the text of a flag's value, or of each value of a list.
func (s *settings) values(place, name string, y *yaml.Node) ([]string, error) {
	_, isList := s.flags.Lookup(name).Value.(pflag.SliceValue)
	items := []*yaml.Node{y}
	switch {
	case !isList:
	case y.Kind == yaml.SequenceNode:
		items = y.Content
	case y.Kind == yaml.ScalarNode && y.Tag != "!!null":
		return strings.Split(y.Value, ","), nil // as in a variable
	}
	out := []string{}
	for _, item := range items {
		if item.Kind != yaml.ScalarNode || item.Tag == "!!null" {
			want := "want one value"
			if isList {
				want = "want a list of texts"
			}
			return nil, noregret.BadInputf(place, "%s", want)
		}
		out = append(out, item.Value)
	}
	return out, nil
}
