package main

import (
	"cmp"
	_ "embed"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

//go:embed pending.txt
var pendingTXT string

func main() {
	root := flag.String("root", ".", "the repository's `DIR`")
	counts := flag.Bool("count", false, "print the number of findings of each folder, those of pending.txt included")
	flag.Parse()
	n, err := run(os.Stdout, *root, *counts, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "prose:", err)
		os.Exit(2)
	}
	if n > 0 && !*counts {
		fmt.Printf("%d findings\n", n)
		os.Exit(1)
	}
}

// run checks the paths, which are relative to root, and returns the number of
// findings. Without paths it checks all but the pending folders.
func run(w io.Writer, root string, counts bool, paths []string) (int, error) {
	r, err := parseRules(wordsYAML)
	if err != nil {
		return 0, err
	}
	skip := pending(pendingTXT)
	if len(paths) > 0 || counts {
		skip = nil
	}
	if len(paths) == 0 {
		paths = []string{"."}
	}
	var found []finding
	for _, p := range paths {
		more, err := checkTree(r, os.DirFS(root), path.Clean(filepath.ToSlash(p)), skip)
		if err != nil {
			return 0, err
		}
		found = append(found, more...)
	}
	if counts {
		return len(found), printCounts(w, found)
	}
	for _, f := range found {
		fmt.Fprintln(w, f)
	}
	return len(found), nil
}

// pending returns the paths of a list that has one on each line.
func pending(list string) []string {
	var out []string
	for line := range strings.Lines(list) {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, strings.TrimSuffix(line, "/"))
		}
	}
	return out
}

// isPending reports whether name is a pending path or is in one. A path that
// ends in /* stands for the files of a folder without the folders in it.
func isPending(name string, skip []string) bool {
	return slices.ContainsFunc(skip, func(p string) bool {
		if dir, ok := strings.CutSuffix(p, "/*"); ok {
			return path.Dir(name) == dir
		}
		return name == p || strings.HasPrefix(name, p+"/")
	})
}

// checkTree checks the files below a path.
func checkTree(r *rules, repo fs.FS, below string, skip []string) ([]finding, error) {
	var out []finding
	err := fs.WalkDir(repo, below, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			switch d.Name() {
			case ".git", "node_modules", "vendor", "dist", "bin":
				return fs.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() || isPending(name, skip) {
			return nil
		}
		texts, err := textsOf(repo, name)
		if err != nil {
			return err
		}
		for _, t := range texts {
			out = append(out, r.check(t)...)
		}
		return nil
	})
	return out, err
}

// own are the files of this program, which name the words.
var own = regexp.MustCompile(`^tools/prose/(words\.yml|testdata/|prose_test\.go)`)

// textsOf returns the prose of a file, nothing if files of its kind have none.
func textsOf(repo fs.FS, name string) ([]text, error) {
	ext := cmp.Or(path.Ext(name), path.Base(name))
	script := ext == ".txtar"
	if own.MatchString(name) || strings.Contains("/"+name, "/testdata/") && !script {
		return nil, nil
	}
	var texts func(name string, src []byte) ([]text, error)
	switch ext {
	case ".go":
		texts = goTexts
	case ".md":
		texts = func(name string, src []byte) ([]text, error) { return markdownTexts(name, src), nil }
	case ".yml", ".yaml", ".sh", ".txtar", "run", "Makefile", "Dockerfile":
		texts = func(name string, src []byte) ([]text, error) { return hashTexts(name, src), nil }
	default:
		return nil, nil
	}
	src, err := fs.ReadFile(repo, name)
	if err != nil {
		return nil, err
	}
	return texts(name, src)
}

// hashTexts returns the comments of a script or a configuration file.
func hashTexts(file string, src []byte) []text {
	var out []text
	var block text
	end := func() {
		if block.body != "" {
			out = append(out, block)
		}
		block = text{file: file, kind: plain}
	}
	end()
	n := 0
	for line := range strings.Lines(string(src)) {
		n++
		if _, after, ok := strings.Cut(" "+line, " # "); ok {
			block.add(n, after, false)
		} else {
			end()
		}
	}
	end()
	return out
}

// printCounts prints how many findings each folder has.
func printCounts(w io.Writer, found []finding) error {
	n := map[string]int{}
	for _, f := range found {
		n[path.Dir(f.file)]++
	}
	var dirs []string
	for dir := range n {
		dirs = append(dirs, dir)
	}
	slices.Sort(dirs)
	for _, dir := range dirs {
		fmt.Fprintf(w, "%5d  %s\n", n[dir], dir)
	}
	_, err := fmt.Fprintf(w, "%5d  in all\n", len(found))
	return err
}
