/** The keys of the list. Enter opens the focused task, as its link does. */
import { useEffect, useEffectEvent } from 'react'

interface TaskKeys {
  /** Moves by so many tasks. */
  move: (by: number) => void
  /** Moves by so many lines of the view. */
  moveLine: (by: number) => void
  select: (isRange: boolean) => void
  copyId: () => void
  showFresh: () => void
  toggleView: () => void
  search: () => void
  clear: () => void
}

/** In a field, a choice or a dialog, keys have their own meaning. */
const isElsewhere = ({ target, defaultPrevented, metaKey, ctrlKey, altKey }: KeyboardEvent) =>
  defaultPrevented ||
  metaKey ||
  ctrlKey ||
  altKey ||
  !(target instanceof HTMLElement) ||
  target.closest(
    'input:not([type=checkbox]), textarea, [role=dialog], [role=alertdialog], [role=listbox]',
  ) !== null

export const useTaskKeys = (keys: TaskKeys): void => {
  const onKey = useEffectEvent((event: KeyboardEvent) => {
    if (isElsewhere(event)) return
    const actions: Record<string, () => void> = {
      j: () => keys.move(1),
      k: () => keys.move(-1),
      ArrowDown: () => keys.moveLine(1),
      ArrowUp: () => keys.moveLine(-1),
      x: () => keys.select(false),
      X: () => keys.select(true),
      c: keys.copyId,
      '.': keys.showFresh,
      v: keys.toggleView,
      '/': keys.search,
      Escape: keys.clear,
    }
    const action = actions[event.key]
    if (action === undefined) return
    if (event.key.startsWith('Arrow') && document.activeElement?.closest('[data-task]') === null) return
    event.preventDefault()
    action()
  })
  useEffect(() => {
    const listen = (event: KeyboardEvent) => onKey(event)
    addEventListener('keydown', listen)
    return () => removeEventListener('keydown', listen)
  }, [])
}
