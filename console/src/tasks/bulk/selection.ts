/** Which tasks are selected. A range reaches from the task that was selected last. */
import { useState } from 'react'

import type { TaskRow } from '../rows/task-row.ts'

export interface Selection {
  ids: ReadonlySet<string>
  toggle: (index: number, isRange: boolean) => void
  toggleAll: () => void
  clear: () => void
  remove: (ids: ReadonlySet<string>) => void
}

export const useSelection = (rows: TaskRow[]): Selection => {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set())
  const [anchor, setAnchor] = useState<string>()
  return {
    ids,
    toggle: (index, isRange) => {
      const row = rows[index]
      if (row === undefined) return
      const changed = new Set(ids)
      const from = isRange ? rows.findIndex(({ id }) => id === anchor) : -1
      if (from === -1) {
        if (!changed.delete(row.id)) changed.add(row.id)
      } else {
        for (const { id } of rows.slice(Math.min(from, index), Math.max(from, index) + 1)) changed.add(id)
      }
      setIds(changed)
      setAnchor(row.id)
    },
    toggleAll: () =>
      setIds(rows.every(({ id }) => ids.has(id)) ? new Set() : new Set(rows.map(({ id }) => id))),
    clear: () => setIds(new Set()),
    remove: (removed) => setIds(new Set([...ids].filter((id) => !removed.has(id)))),
  }
}
