// Compares docs/reference, and the reference on the pages of docs/algorithms, with the types of every entry point: no export and no
// option is missing, none is made up.
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
// TypeScript 7 has no stable API yet.
import ts from "typescript5"
import { describe, expect, test } from "vitest"

const root = fileURLToPath(new URL("../../../..", import.meta.url))
const { config } = ts.readConfigFile(join(root, "tsconfig.json"), ts.sys.readFile)
const paths: Record<string, [string]> = config.compilerOptions.paths
const files = new Map(
  Object.entries(paths)
    .filter(([name]) => /^sluice\b/.test(name))
    .map(([name, [file]]) => [name, join(root, file)]),
)
const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root)
const program = ts.createProgram([...files.values()], { ...options, types: ["node"] })
const checker = program.getTypeChecker()

interface Member {
  readonly name: string
  readonly isOptional: boolean
  readonly type: string
  /** What a call of it looks like, without the names of parameters: `a, b?`. */
  readonly call: string
}

const resolve = (symbol: ts.Symbol) =>
  symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol

function exportsOf(entry: string): Map<string, ts.Symbol> {
  const source = program.getSourceFile(files.get(entry) as string)
  const module = source && checker.getSymbolAtLocation(source)
  if (module === undefined) throw new Error(`${entry} has no module`)
  return new Map(checker.getExportsOfModule(module).map((symbol) => [symbol.name, resolve(symbol)]))
}

const published = new Set([...files.keys()].flatMap((entry) => [...exportsOf(entry).values()]))

/** The members that an export adds: its own, and those of types that are not exported. */
function membersOf(symbol: ts.Symbol): Member[] {
  return typesOf(symbol)
    .flatMap((type) => checker.getPropertiesOfType(type))
    .flatMap((property) => {
      const [declaration] = property.declarations ?? []
      if (declaration === undefined || !isOurs(declaration) || !/^[a-z]\w*$/i.test(property.name)) return []
      const parent = checker.getSymbolAtLocation(
        (declaration.parent as ts.InterfaceDeclaration).name ?? declaration,
      )
      if (parent !== undefined && parent !== symbol && published.has(parent)) return []
      return [memberOf(property, declaration)]
    })
}

const isOurs = (node: ts.Node) => node.getSourceFile().fileName.includes("/packages/sluice/src/")

function memberOf(property: ts.Symbol, declaration: ts.Declaration): Member {
  const { type } = declaration as ts.PropertySignature
  return {
    name: property.name,
    isOptional: (property.flags & ts.SymbolFlags.Optional) !== 0,
    type: plain(type?.getText() ?? ""),
    call: callOf(declaration),
  }
}

function callOf(declaration: ts.Declaration): string {
  const [signature] = checker.getTypeAtLocation(declaration).getNonNullableType().getCallSignatures()
  const parameters = (signature?.getDeclaration().parameters ?? []).map(parameterOf)
  return shapeOf(parameters.join(", "))
}

function parameterOf({ questionToken, initializer, type }: ts.ParameterDeclaration): string {
  const isOptional = questionToken !== undefined || initializer !== undefined
  const isInline = type !== undefined && ts.isTypeLiteralNode(type)
  const text = isInline ? `{ ${type.members.map((member) => member.name?.getText()).join(", ")} }` : "value"
  return `${text}${isOptional ? "?" : ""}`
}

/** A call without the names of its parameters. The names in an inline record stay. */
function shapeOf(call: string): string {
  return call.replaceAll(/(\{[^}]*\})|\w+/g, (_, record?: string) => record ?? "_")
}

/** The types whose members have to be described: an interface, an object, or the literal that a function takes. */
function typesOf(symbol: ts.Symbol): ts.Type[] {
  const [declaration] = symbol.declarations ?? []
  if (declaration === undefined) return []
  if (ts.isFunctionDeclaration(declaration)) {
    return declaration.parameters
      .filter(({ type }) => type !== undefined && ts.isTypeLiteralNode(type))
      .map((parameter) => checker.getTypeAtLocation(parameter))
  }
  if (ts.isVariableDeclaration(declaration)) return []
  const type = checker.getDeclaredTypeOfSymbol(symbol)
  const isObject = (type.flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection)) !== 0
  return isObject || symbol.name === "WebOptions" ? [type] : []
}

/** A type as the pages write it: on one line, without `| undefined` and `readonly`. */
function plain(type: string): string {
  return type
    .replaceAll(/\/\*\*.*?\*\//gs, "")
    .replaceAll(/\s+/g, " ")
    .replace(/^\s*\| /, "")
    .replace(/ \| undefined$/, "")
    .replaceAll("readonly ", "")
    .trim()
}

interface Row {
  readonly name: string
  readonly cells: readonly string[]
  readonly columns: readonly string[]
}

interface Section {
  readonly entry: string
  readonly name: string
  readonly rows: readonly Row[]
}

const cellsOf = (line: string) =>
  line
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim().replaceAll("\\|", "|"))

function sectionsOf(page: string): Section[] {
  return page
    .split(/^## /m)
    .slice(1)
    .flatMap((part) => {
      const entry = part.startsWith("Reference\n") ? "sluice" : (/^`(sluice[^`]*)`/.exec(part)?.[1] ?? "")
      return part
        .split(/^### /m)
        .slice(1)
        .map((text) => {
          const name = /^`?(\w+)/.exec(text)?.[1] ?? ""
          const lines = text.split("\n").filter((line) => line.startsWith("|"))
          const columns = lines[0] === undefined ? [] : cellsOf(lines[0])
          const rows = lines.slice(2).map((line) => {
            const cells = cellsOf(line)
            return { name: /\w+/.exec(cells[0] as string)?.[0] ?? "", cells, columns }
          })
          return { entry, name, rows }
        })
    })
}

const sections = ["docs/reference", "docs/algorithms"].flatMap((folder) =>
  readdirSync(join(root, folder))
    .filter((file) => file.endsWith(".md"))
    .flatMap((file) => sectionsOf(readFileSync(join(root, folder, file), "utf8"))),
)

test("docs/reference describes every entry point of the package, and no other", () => {
  const { exports } = JSON.parse(readFileSync(join(root, "packages/sluice/package.json"), "utf8"))
  const entries = Object.keys(exports)
    .filter((path) => path !== "./package.json")
    .map((path) => path.replace(".", "sluice"))
  expect(new Set(sections.map(({ entry }) => entry))).toEqual(new Set(entries))
})

describe.each([...files.keys()])("the reference of %s", (entry) => {
  const exported = exportsOf(entry)
  const own = sections.filter((section) => section.entry === entry)
  const listed = own.filter(({ name }) => name === "Types").flatMap(({ rows }) => rows)
  const described = own.filter(({ name }) => name !== "Types")

  test("names every export once", () => {
    const names = [...described.map(({ name }) => name), ...listed.map(({ name }) => name)]
    expect(names.sort()).toEqual([...exported.keys()].sort())
  })

  test.each(described.filter(({ name }) => exported.has(name)))(
    "$name has a row for each of its members",
    ({ name, rows }) => {
      const members = membersOf(exported.get(name) as ts.Symbol)
      expect(rows.map((row) => row.name).sort()).toEqual(members.map((member) => member.name).sort())
      for (const { name: row, cells, columns } of rows) {
        const member = members.find((one) => one.name === row) as Member
        const cell = (column: string) => cells[columns.indexOf(column)]
        const call = /^`\w+\((.*)\)`$/.exec(cells[0] as string)?.[1]
        if (call !== undefined) expect(shapeOf(call), `${name}.${row}`).toBe(member.call)
        if (columns.includes("type")) expect(cell("type"), `${name}.${row}`).toBe(`\`${member.type}\``)
        if (columns.includes("default")) {
          expect(cell("default") !== "required", `${name}.${row} is optional`).toBe(member.isOptional)
        }
      }
    },
  )

  test("names each member of the types in its list", () => {
    for (const { name, cells } of listed) {
      const symbol = exported.get(name)
      for (const member of symbol === undefined ? [] : membersOf(symbol)) {
        expect(cells.join(" "), `${name}.${member.name}`).toContain(`\`${member.name}`)
      }
    }
  })
})
