/** Builds the JSON of Grafana. Its SDK has the types of that JSON. */
import {
  LegendDisplayMode,
  LegendPlacement,
  StackingMode,
  BigValueColorMode,
  BigValueGraphMode,
  BigValueTextMode,
  GraphThresholdsStyleMode,
  TooltipDisplayMode,
} from '@grafana/grafana-foundation-sdk/common'
import * as options from '@grafana/grafana-foundation-sdk/common'
import {
  DashboardBuilder,
  DashboardLinkBuilder,
  DashboardLinkType,
  DashboardCursorSync,
  DatasourceVariableBuilder,
  FieldColorBuilder,
  FieldColorModeId,
  MappingType,
  QueryVariableBuilder,
  RowBuilder,
  ThresholdsConfigBuilder,
  ThresholdsMode,
  VariableRefresh,
  VariableSort,
  type Dashboard,
  type Threshold,
  type ValueMapping,
} from '@grafana/grafana-foundation-sdk/dashboard'
import { DataqueryBuilder } from '@grafana/grafana-foundation-sdk/prometheus'
import { PanelBuilder as StatBuilder } from '@grafana/grafana-foundation-sdk/stat'
import { PanelBuilder as TimeseriesBuilder } from '@grafana/grafana-foundation-sdk/timeseries'

import {
  units,
  type Board,
  type BoardName,
  type Chart,
  type Figure,
  type Limits,
  type Variable,
} from './board.ts'

const source = { type: 'prometheus', uid: '${datasource}' }
const columns = 24
const figureHeight = 4
const chartHeight = 8
const tag = 'kinora'

export const uidOf = (name: BoardName): string => `kinora-${name}`

const stepsOf = ({ warn, bad }: Limits = {}): Threshold[] => {
  const isLowBad = warn !== undefined && bad !== undefined && bad < warn
  const [first, second, third] = isLowBad ? ['red', 'orange', 'green'] : ['green', 'orange', 'red']
  if (isLowBad)
    return [
      { value: null, color: first },
      { value: bad, color: second },
      { value: warn, color: third },
    ] as Threshold[]
  return [
    { value: null, color: first },
    ...(warn === undefined ? [] : [{ value: warn, color: second }]),
    ...(bad === undefined ? [] : [{ value: bad, color: third }]),
  ] as Threshold[]
}

const thresholds = (limits: Limits | undefined) =>
  new ThresholdsConfigBuilder().mode(ThresholdsMode.Absolute).steps(stepsOf(limits))

const mappings = (words: Record<number, string> = {}): ValueMapping[] =>
  Object.keys(words).length === 0
    ? []
    : [
        {
          type: MappingType.ValueToText,
          options: Object.fromEntries(Object.entries(words).map(([value, text]) => [value, { text }])),
        },
      ]

const color = (mode: FieldColorModeId) => new FieldColorBuilder().mode(mode)

/** Without a legend of its own, a query has the title of the panel. */
const addQueries = <Builder extends StatBuilder | TimeseriesBuilder>(
  builder: Builder,
  panel: Figure | Chart,
): Builder => {
  for (const [index, [legend, expression]] of Object.entries(panel.queries).entries()) {
    const query = new DataqueryBuilder()
      .refId(String.fromCodePoint(65 + index))
      .datasource(source)
      .expr(expression)
      .legendFormat(legend)
    builder.withTarget(panel.kind === 'figure' ? query.instant() : query.range())
  }
  if (panel.next !== undefined) {
    builder.links([
      new DashboardLinkBuilder('More about this')
        .type(DashboardLinkType.Link)
        .url(`/d/${uidOf(panel.next)}?\${datasource:queryparam}&\${__url_time_range}`),
    ])
  }
  return builder
}

const buildFigure = (panel: Figure, width: number): StatBuilder =>
  addQueries(new StatBuilder(), panel)
    .title(panel.title)
    .description(panel.help)
    .datasource(source)
    .unit(units[panel.unit])
    .thresholds(thresholds(panel.limits))
    .colorScheme(color(FieldColorModeId.Thresholds))
    .mappings(mappings(panel.words))
    .noValue('no data')
    .graphMode(BigValueGraphMode.None)
    .colorMode(panel.limits === undefined ? BigValueColorMode.None : BigValueColorMode.Value)
    .textMode(panel.hasNames === true ? BigValueTextMode.ValueAndName : BigValueTextMode.Value)
    .reduceOptions(new options.ReduceDataOptionsBuilder().calcs(['lastNotNull']).values(false))
    .span(width)
    .height(figureHeight)

const buildChart = (panel: Chart, width: number): TimeseriesBuilder => {
  const builder = addQueries(new TimeseriesBuilder(), panel)
    .title(panel.title)
    .description(panel.help)
    .datasource(source)
    .unit(units[panel.unit])
    .min(0)
    .colorScheme(color(FieldColorModeId.PaletteClassicByName))
    .mappings(mappings(panel.words))
    .lineWidth(1)
    .fillOpacity(panel.isStacked === true ? 60 : 10)
    .legend(
      new options.VizLegendOptionsBuilder()
        .showLegend(true)
        .displayMode(LegendDisplayMode.Table)
        .placement(LegendPlacement.Bottom)
        .calcs(['lastNotNull', 'max']),
    )
    .tooltip(
      new options.VizTooltipOptionsBuilder()
        .mode(TooltipDisplayMode.Multi)
        // oxlint-disable-next-line unicorn/no-array-sort -- of a builder
        .sort(options.SortOrder.Descending),
    )
    .span(width)
    .height(chartHeight)
  if (panel.isStacked === true)
    builder.stacking(new options.StackingConfigBuilder().mode(StackingMode.Normal).group('A'))
  if (panel.limits !== undefined) {
    builder
      .thresholds(thresholds(panel.limits))
      .thresholdsStyle(new options.GraphThresholdsStyleConfigBuilder().mode(GraphThresholdsStyleMode.Dashed))
  }
  return builder
}

/** The query of a variable in Grafana. */
const variableQuery = ({ metric, values }: Variable) => `label_values(${metric}, ${values})`

const buildVariable = (variable: Variable) => {
  const builder = new QueryVariableBuilder(variable.name)
    .label(variable.label)
    .datasource(source)
    .query({ query: variableQuery(variable), refId: 'variable' })
    .definition(variableQuery(variable))
    .refresh(VariableRefresh.OnTimeRangeChanged)
    // oxlint-disable-next-line unicorn/no-array-sort -- of a builder
    .sort(VariableSort.AlphabeticalAsc)
  if (variable.isSingle === true) return builder
  return builder.multi(true).includeAll(true).allValue('.*').current({ text: 'All', value: '$__all' })
}

/** Panels of the same kind share the width of their row, at most six figures or three charts. */
const widthsOf = (panels: (Figure | Chart)[]): number[] => {
  const inLine = (count: number, most: number) => Math.ceil(count / Math.ceil(count / most))
  const figures = panels.filter(({ kind }) => kind === 'figure').length
  const width = {
    figure: columns / inLine(figures, 6),
    chart: columns / inLine(panels.length - figures, 3),
  }
  return panels.map(({ kind }) => Math.floor(width[kind]))
}

/** Places panels from left to right, and in the next line where the last one is full. */
const addRow = (
  builder: DashboardBuilder,
  title: string,
  panels: (Figure | Chart)[],
  top: number,
): number => {
  builder.withRow(new RowBuilder(title).gridPos({ x: 0, y: top, w: columns, h: 1 }))
  const widths = widthsOf(panels)
  let [x, y, height] = [0, top + 1, 0]
  for (const [index, panel] of panels.entries()) {
    const w = widths[index] ?? columns
    const h = panel.kind === 'figure' ? figureHeight : chartHeight
    if (x + w > columns || (height !== 0 && h !== height)) [x, y] = [0, y + height]
    height = h
    const built = panel.kind === 'figure' ? buildFigure(panel, w) : buildChart(panel, w)
    builder.withPanel(built.gridPos({ x, y, w, h }))
    x += w
  }
  return y + height
}

export const buildDashboard = (name: BoardName, board: Board): Dashboard => {
  const builder = new DashboardBuilder(`Kinora: ${board.title}`)
    .uid(uidOf(name))
    .description(board.description)
    .tags([tag])
    .time({ from: 'now-6h', to: 'now' })
    .refresh('30s')
    .tooltip(DashboardCursorSync.Crosshair)
    .link(
      new DashboardLinkBuilder('Kinora')
        .type(DashboardLinkType.Dashboards)
        .tags([tag])
        .keepTime(true)
        .includeVars(true),
    )
    .withVariable(new DatasourceVariableBuilder('datasource').label('Prometheus').type('prometheus'))
  for (const variable of board.variables) builder.withVariable(buildVariable(variable))
  let top = 0
  for (const [title, panels] of Object.entries(board.rows)) top = addRow(builder, title, panels, top)
  const dashboard = builder.build()
  // The SDK would hide the links between dashboards in a menu.
  for (const link of dashboard.links ?? []) delete link.placement
  for (const [index, panel] of (dashboard.panels ?? []).entries()) panel.id = index + 1
  return dashboard
}
