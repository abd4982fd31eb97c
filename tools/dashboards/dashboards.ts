/** The dashboards in deploy/observability/grafana, which `npm run generate` writes. */
import type { Board, BoardName } from './board.ts'
import { buildDashboard, uidOf } from './build-dashboard.ts'
import { moneyBoard } from './money-board.ts'
import { providersBoard } from './providers-board.ts'
import { roleBoard } from './role-board.ts'
import { serviceBoard } from './service-board.ts'
import { tasksBoard } from './tasks-board.ts'

export const boards: Record<BoardName, Board> = {
  service: serviceBoard,
  providers: providersBoard,
  tasks: tasksBoard,
  money: moneyBoard,
  role: roleBoard,
}

/** Their JSON by path. */
export const dashboardFiles = (): Record<string, string> =>
  Object.fromEntries(
    (Object.entries(boards) as [BoardName, Board][]).map(([name, board]) => [
      `deploy/observability/grafana/${uidOf(name)}.json`,
      `${JSON.stringify(buildDashboard(name, board), null, 2)}\n`,
    ]),
  )
