/** Bars in groups, as an SVG that reads on light and dark pages alike. */
export interface Chart {
  readonly title: string
  readonly unit: string
  readonly groups: readonly { readonly label: string; readonly bars: readonly Bar[] }[]
}

interface Bar {
  readonly name: string
  readonly value: number
}

const [width, left, right, thickness, gap, head] = [760, 230, 110, 16, 18, 52]

export function svgOf({ title, unit, groups }: Chart): string {
  const most = Math.max(...groups.flatMap(({ bars }) => bars.map(({ value }) => value)))
  const shapes: string[] = []
  let y = head
  for (const { label, bars } of groups) {
    if (label !== "") {
      shapes.push(`<text class="group" x="12" y="${y + 12}">${escaped(label)}</text>`)
      y += 20
    }
    for (const { name, value } of bars) {
      const length = Math.max(1, (value / most) * (width - left - right))
      const kind = name.startsWith("sluice") ? "ours" : name.endsWith("(floor)") ? "floor" : "peer"
      shapes.push(
        `<text class="name" x="${left - 8}" y="${y + 12}">${escaped(name)}</text>`,
        `<rect class="${kind}" x="${left}" y="${y}" width="${length.toFixed(1)}" height="${thickness - 3}" rx="2"/>`,
        `<text class="value" x="${(left + length + 6).toFixed(1)}" y="${y + 11}">${short(value)}</text>`,
      )
      y += thickness
    }
    y += gap
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${y}" role="img" aria-label="${escaped(title)}">
<style>
text { font: 12px system-ui, sans-serif; fill: #24292f }
.title { font-size: 15px; font-weight: 600 } .group { font-weight: 600 }
.name { text-anchor: end } .unit { fill: #6e7781 }
.ours { fill: #1f7a5c } .peer { fill: #9aa4af } .floor { fill: #d4b26a }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .unit { fill: #8d96a0 } .ours { fill: #3fb68b } .peer { fill: #6e7681 } .floor { fill: #a8873f }
}
</style>
<text class="title" x="12" y="22">${escaped(title)}</text>
<text class="unit" x="12" y="40">${escaped(unit)}</text>
${shapes.join("\n")}
</svg>
`
}

function short(value: number): string {
  if (value >= 1e6) return `${(value / 1e6).toFixed(2)} M`
  if (value >= 1e4) return `${Math.round(value / 1e3)} k`
  return value >= 1e3 ? `${(value / 1e3).toFixed(1)} k` : value.toFixed(0)
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (char) => `&#${char.charCodeAt(0)};`)
}
