/** Keys of the page of a task: `[` and `]` open the task before and after it, `r` remixes it, `c` copies its id. */
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useEffectEvent } from 'react'

import { useTexts } from '../../i18n/texts.ts'
import { kinora, kinoraAdmin } from '../../service.ts'
import { showToast } from '../../ui/toast.tsx'
import type { TaskView } from './task-data.ts'
import { taskTexts } from './texts.ts'

/** How many tasks of the same second are looked through. */
const pageSize = 50

const findOwnNeighbour = async (id: string, isOlder: boolean): Promise<string | undefined> => {
  const { data } = await kinora.videos.list({ after: id, limit: 1, order: isOlder ? 'desc' : 'asc' })
  return data[0]?.id
}

/** The list of operators has one direction only, so newer tasks are looked for in a growing period. */
const findAnyNeighbour = async (
  { id, createdAt }: TaskView,
  isOlder: boolean,
): Promise<string | undefined> => {
  if (isOlder) {
    const { data } = await kinoraAdmin.tasks.list({ to: createdAt + 1, limit: pageSize })
    const at = data.findIndex((task) => task.id === id)
    return data.slice(at + 1).find((task) => task.id !== id)?.id
  }
  for (const seconds of [60, 3_600, 86_400, 30 * 86_400]) {
    const { data, next } = await kinoraAdmin.tasks.list({
      from: createdAt,
      to: createdAt + seconds,
      limit: 200,
    })
    const at = data.findIndex((task) => task.id === id)
    const newer = data.slice(0, at === -1 ? undefined : at).at(-1)
    if (newer !== undefined && (at !== -1 || next === null)) return newer.id
  }
  return undefined
}

const isTyping = ({ target }: KeyboardEvent) =>
  target instanceof HTMLElement &&
  (target.isContentEditable || /^(input|textarea|select)$/i.test(target.tagName))

const hasDialog = () =>
  document.querySelector(
    ':is([role="dialog"], [role="alertdialog"]):not([aria-modal="false"]), [role="menu"]',
  ) !== null

export const useTaskKeys = (view: TaskView | null | undefined, onRemix: (() => void) | undefined): void => {
  const texts = useTexts(taskTexts)
  const navigate = useNavigate()
  const openNeighbour = async (current: TaskView, isOlder: boolean) => {
    const found =
      current.own === null
        ? await findAnyNeighbour(current, isOlder)
        : await findOwnNeighbour(current.id, isOlder)
    if (found === undefined) showToast(isOlder ? texts.older : texts.newer)
    else await navigate({ to: '/tasks/$id', params: { id: found }, search: {} })
  }
  const onKey = useEffectEvent((event: KeyboardEvent) => {
    if (event.metaKey || event.ctrlKey || event.altKey || event.defaultPrevented) return
    if (view === null || view === undefined || isTyping(event) || hasDialog()) return
    if (event.key === '[') void openNeighbour(view, false)
    else if (event.key === ']') void openNeighbour(view, true)
    else if (event.key === 'r') onRemix?.()
    else if (event.key === 'c')
      void navigator.clipboard.writeText(view.id).then(() => showToast(texts.actions.copied(view.id)))
  })
  useEffect(() => {
    const listen = (event: KeyboardEvent) => onKey(event)
    addEventListener('keydown', listen)
    return () => removeEventListener('keydown', listen)
  }, [])
}
