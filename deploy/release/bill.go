package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"fmt"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// billOf returns the CycloneDX bill of materials of a build: the modules that the
// programs' build information lists.
func billOf(b *build) ([]byte, error) {
	modules := map[string]cdx.Component{"std": {
		BOMRef: "std", Type: cdx.ComponentTypeLibrary, Name: "std", Version: b.info.GoVersion,
		PackageURL: "pkg:golang/std@" + strings.TrimPrefix(b.info.GoVersion, "go"),
	}}
	var made []cdx.Component
	var uses []cdx.Dependency
	for _, program := range programs {
		info, err := buildinfo.ReadFile(b.binary(program))
		if err != nil {
			return nil, err
		}
		content, err := os.ReadFile(b.binary(program))
		if err != nil {
			return nil, err
		}
		of := []string{"std"}
		for _, d := range info.Deps {
			c := component(d)
			modules[c.BOMRef] = c
			of = append(of, c.BOMRef)
		}
		made = append(made, cdx.Component{
			BOMRef: program, Type: cdx.ComponentTypeApplication, Name: program, Version: b.version(),
			Hashes: &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: fmt.Sprintf("%x", sha256.Sum256(content))}},
		})
		uses = append(uses, cdx.Dependency{Ref: program, Dependencies: &of})
	}
	whole := cdx.Component{
		BOMRef: "sesslog", Type: cdx.ComponentTypeApplication, Name: "sesslog", Version: b.version(),
		PackageURL: "pkg:golang/" + b.info.Main.Path + "@" + b.version(), Components: &made,
		Licenses: &cdx.Licenses{{License: &cdx.License{ID: "Apache-2.0"}}},
		Properties: &[]cdx.Property{
			{Name: "commit", Value: b.setting("vcs.revision")}, {Name: "platform", Value: b.platform},
		},
	}
	var all []cdx.Component
	for _, ref := range slices.Sorted(maps.Keys(modules)) {
		all = append(all, modules[ref])
	}
	uses = append(uses, cdx.Dependency{Ref: "sesslog", Dependencies: &programs})
	bill := cdx.NewBOM()
	bill.Metadata = &cdx.Metadata{Timestamp: b.time().Format("2006-01-02T15:04:05Z"), Component: &whole}
	bill.Components, bill.Dependencies = &all, &uses
	var out bytes.Buffer
	if err := cdx.NewBOMEncoder(&out, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bill, cdx.SpecVersion1_6); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// component describes a module as it was built.
func component(d *debug.Module) cdx.Component {
	if d.Replace != nil {
		d = d.Replace
	}
	url := "pkg:golang/" + d.Path + "@" + d.Version
	return cdx.Component{
		BOMRef: url, Type: cdx.ComponentTypeLibrary, Name: d.Path, Version: d.Version, PackageURL: url,
		Properties: &[]cdx.Property{{Name: "go.sum", Value: d.Sum}},
	}
}
