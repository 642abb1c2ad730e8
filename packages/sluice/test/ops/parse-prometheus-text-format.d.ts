declare module "parse-prometheus-text-format" {
  interface Metric {
    readonly name: string
    readonly help: string
    readonly type: "COUNTER" | "GAUGE" | "HISTOGRAM"
    readonly metrics: readonly {
      readonly value?: string
      readonly labels?: Readonly<Record<string, string>>
    }[]
  }
  export default function parse(text: string): Metric[]
}
