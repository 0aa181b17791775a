package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

// formula is the Homebrew formula: the archives of this release with their sums.
var formula = template.Must(template.New("").Parse(`class Sesslog < Formula
  desc "{{.About}}"
  homepage "https://{{.Home}}"
  version "{{.Version}}"
  license "Apache-2.0"
{{range .Systems}}
  on_{{.Brew}} do
{{- range .Archives}}
    on_{{.Brew}} do
      url "https://{{$.Home}}/releases/download/{{$.Tag}}/{{.Name}}"
      sha256 "{{.Sum}}"
    end
{{- end}}
  end
{{end}}
  def install
    bin.install "sessctl", "sessmodel", "sessnode"
    generate_completions_from_executable(bin/"sessctl", "completion")
  end

  service do
    run [opt_bin/"sessnode"]
    keep_alive true
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/sessctl version")
  end
end
`))

type brewSystem struct {
	Brew     string
	Archives []brewArchive
}

type brewArchive struct{ Brew, Name, Sum string }

// writeFormula writes sesslog.rb for the archives in out, and returns its name. It
// returns "" if there are none for macOS or Linux.
func writeFormula(builds []*build, out string) (string, error) {
	var systems []brewSystem
	for _, system := range []struct{ goos, brew string }{{"darwin", "macos"}, {"linux", "linux"}} {
		s := brewSystem{Brew: system.brew}
		for _, b := range builds {
			arch := map[string]string{"arm64": "arm", "amd64": "intel"}[b.arch()]
			if b.os() != system.goos || arch == "" {
				continue
			}
			sum, err := sumOf(filepath.Join(out, b.archive()))
			if err != nil {
				return "", err
			}
			s.Archives = append(s.Archives, brewArchive{arch, b.archive(), sum})
		}
		if len(s.Archives) > 0 {
			systems = append(systems, s)
		}
	}
	if len(systems) == 0 {
		return "", nil
	}
	var text bytes.Buffer
	err := formula.Execute(&text, map[string]any{
		"About": about, "Home": builds[0].info.Main.Path, "Tag": builds[0].version(),
		"Version": strings.TrimPrefix(builds[0].version(), "v"), "Systems": systems,
	})
	if err != nil {
		return "", err
	}
	const name = packageName + ".rb"
	return name, os.WriteFile(filepath.Join(out, name), text.Bytes(), 0o644)
}
