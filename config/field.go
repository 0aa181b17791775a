package config

import (
	"encoding"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// A Field is one value of a Config, reachable by its name.
type Field struct {
	Path   []string // as in the YAML file
	Doc    string
	Secret bool
	value  reflect.Value
}

// Flag is the field's name on the command line, without dashes before it.
func (f Field) Flag() string {
	return strings.ReplaceAll(strings.Join(f.Path, "-"), "_", "-")
}

// Env is the field's name in the environment.
func (f Field) Env() string { return "SESS_" + strings.ToUpper(strings.Join(f.Path, "_")) }

// String is the field's value as Set reads it.
func (f Field) String() string { return fmt.Sprint(f.value.Interface()) }

// IsBool reports whether the field is true or false.
func (f Field) IsBool() bool { return f.value.Kind() == reflect.Bool }

// Set gives the field the value written as s.
func (f Field) Set(s string) error {
	if t, ok := f.value.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return t.UnmarshalText([]byte(s))
	}
	switch f.value.Kind() {
	case reflect.String:
		f.value.SetString(s)
	case reflect.Int:
		n, err := strconv.Atoi(s)
		if err != nil {
			return fmt.Errorf("%q is not a number", s)
		}
		f.value.SetInt(int64(n))
	case reflect.Bool:
		b, err := strconv.ParseBool(s)
		if err != nil {
			return fmt.Errorf("%q is neither true nor false", s)
		}
		f.value.SetBool(b)
	}
	return nil
}

// Fields returns every value of c, in the order of the struct. Setting one
// changes c.
func Fields(c *Config) []Field {
	return fields(nil, reflect.ValueOf(c).Elem())
}

func fields(path []string, v reflect.Value) []Field {
	var out []Field
	for i := range v.NumField() {
		t := v.Type().Field(i)
		name := t.Tag.Get("yaml")
		at := append(path[:len(path):len(path)], name)
		if t.Type.Kind() == reflect.Struct {
			out = append(out, fields(at, v.Field(i))...)
			continue
		}
		out = append(out, Field{Path: at, Doc: t.Tag.Get("doc"), Secret: t.Tag.Get("secret") == "true", value: v.Field(i)})
	}
	return out
}
