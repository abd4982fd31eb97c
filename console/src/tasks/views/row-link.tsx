/**
 * A link from a row to its task. It is a plain link, because that of the router works out its URL and follows its state for
 * each row that scrolls into view.
 */
import { useNavigate } from '@tanstack/react-router'
import type { ComponentProps, MouseEvent } from 'react'

/** What opens another tab or window, or saves, is left to the browser. */
const isPlain = ({ button, metaKey, ctrlKey, shiftKey, altKey }: MouseEvent) =>
  button === 0 && !metaKey && !ctrlKey && !shiftKey && !altKey

export const RowLink = ({
  id,
  children,
  ...props
}: Omit<ComponentProps<'a'>, 'href' | 'onClick'> & { id: string }) => {
  const navigate = useNavigate()
  return (
    <a
      href={`/console/tasks/${encodeURIComponent(id)}`}
      onClick={(event) => {
        if (!isPlain(event) || event.defaultPrevented) return
        event.preventDefault()
        void navigate({ to: '/tasks/$id', params: { id }, search: {} })
      }}
      {...props}
    >
      {children}
    </a>
  )
}
