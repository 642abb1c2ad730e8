// Draws pictures that are readable on light and dark pages.

export interface Picture {
  readonly title: string
  readonly subtitle: string
  readonly width: number
  readonly height: number
  readonly body: readonly string[]
}

const style = `
text { font: 12px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #24292f }
.title { font-size: 16px; font-weight: 600 } .head { font-weight: 600 } .small { font-size: 11px }
.muted { fill: #59636e } .end { text-anchor: end } .mid { text-anchor: middle }
.passed { fill: #1a7f5a } .degraded { fill: #bf8700 }
.denied { fill: none; stroke: #cf222e; stroke-width: 1.3 }
.error { stroke: #cf222e; stroke-width: 1.8; fill: none }
.asked { fill: #8c959f } .line { stroke: #d0d7de; stroke-width: 1 } .probe { stroke: #59636e; stroke-width: 1.5 }
.down { fill: #cf222e; fill-opacity: 0.09 } .limit { stroke: #cf222e; stroke-width: 1; stroke-dasharray: 4 3 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .muted { fill: #9198a1 } .passed { fill: #3fb68b } .degraded { fill: #d9a441 }
.denied, .error { stroke: #ff7b72 } .asked { fill: #7d8590 } .line { stroke: #3d444d } .probe { stroke: #9198a1 }
.down { fill: #ff7b72; fill-opacity: 0.13 } .limit { stroke: #ff7b72 }
}`

export function svg({ title, subtitle, width, height, body }: Picture): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escaped(title)}">
<style>${style}
</style>
<text class="title" x="12" y="24">${escaped(title)}</text>
<text class="muted" x="12" y="43">${escaped(subtitle)}</text>
${body.join("\n")}
</svg>
`
}

export function text(x: number, y: number, value: string, kind = ""): string {
  return `<text${kind === "" ? "" : ` class="${kind}"`} x="${short(x)}" y="${short(y)}">${escaped(value)}</text>`
}

export function square(x: number, y: number, size: number, kind: string): string {
  return `<rect class="${kind}" x="${short(x)}" y="${short(y)}" width="${size}" height="${size}" rx="1.5"/>`
}

export function area(x: number, y: number, width: number, height: number, kind: string): string {
  return `<rect class="${kind}" x="${short(x)}" y="${short(y)}" width="${short(width)}" height="${short(height)}"/>`
}

export function line(x1: number, y1: number, x2: number, y2: number, kind = "line"): string {
  return `<line class="${kind}" x1="${short(x1)}" y1="${short(y1)}" x2="${short(x2)}" y2="${short(y2)}"/>`
}

/** A cross in a square of that size. */
export function cross(x: number, y: number, size: number): string {
  const [left, top, right, bottom] = [x, y, x + size, y + size].map(short)
  return `<path class="error" d="M${left} ${top}L${right} ${bottom}M${right} ${top}L${left} ${bottom}"/>`
}

/** A scale of seconds under a picture. */
export function seconds(y: number, left: number, perSecond: number, last: number, step = 1): string[] {
  const marks = Array.from({ length: Math.floor(last / step) + 1 }, (_, i) => i * step)
  return [
    line(left, y, left + last * perSecond, y),
    ...marks.map((s) => text(left + s * perSecond, y + 15, `${s} s`, "muted small mid")),
  ]
}

function short(value: number): string {
  return String(Math.round(value * 10) / 10)
}

function escaped(value: string): string {
  return value.replace(/[&<>"]/g, (char) => `&#${char.charCodeAt(0)};`)
}
