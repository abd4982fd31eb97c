/** The prompt, in which `@` completes the account's characters. */
import { useQuery } from '@tanstack/react-query'
import { useId, useRef, useState, type ClipboardEvent, type KeyboardEvent } from 'react'

import { formatNumber } from '../../i18n/format.ts'
import { useTexts } from '../../i18n/texts.ts'
import { kinora } from '../../service.ts'
import { promptCharactersMax } from './form.ts'
import { videoTexts } from './texts.ts'

import styles from './prompt-field.module.css'

interface PromptFieldProps {
  value: string
  onChange: (value: string) => void
  onImages: (files: File[]) => void
  rows?: number
}

const shownMax = 6

/** The name that is being typed before the caret. */
const findMention = (text: string, caret: number): { start: number; typed: string } | undefined => {
  const match = /(?:^|[\s(])@([\w.-]*)$/.exec(text.slice(0, caret))
  return match === null ? undefined : { start: caret - (match[1] ?? '').length, typed: match[1] ?? '' }
}

export const PromptField = ({ value, onChange, onImages, rows = 4 }: PromptFieldProps) => {
  const texts = useTexts(videoTexts)
  const id = useId()
  const area = useRef<HTMLTextAreaElement>(null)
  const [mention, setMention] = useState<{ start: number; typed: string }>()
  const [active, setActive] = useState(0)
  const { data: characters = [] } = useQuery({
    queryKey: ['characters'],
    queryFn: async () => (await kinora.characters.list({ limit: 100 })).data,
    enabled: mention !== undefined,
    staleTime: 30_000,
  })
  const found =
    mention === undefined
      ? []
      : characters
          .filter(({ username }) => username.toLowerCase().includes(mention.typed.toLowerCase()))
          .slice(0, shownMax)
  const isOpen = found.length > 0
  const look = () => {
    const { current } = area
    if (current === null) return
    setMention(findMention(current.value, current.selectionStart))
    setActive(0)
  }
  const complete = (username: string) => {
    const { current } = area
    if (current === null || mention === undefined) return
    const before = value.slice(0, mention.start)
    const after = value.slice(mention.start + mention.typed.length)
    const next = `${before}${username}${after.startsWith(' ') ? '' : ' '}${after}`
    onChange(next)
    setMention(undefined)
    const caret = before.length + username.length + 1
    requestAnimationFrame(() => {
      current.focus()
      current.setSelectionRange(caret, caret)
    })
  }
  const onKey = (event: KeyboardEvent) => {
    if (!isOpen) return
    const chosen = found[active]
    if (event.key === 'ArrowDown') setActive((active + 1) % found.length)
    else if (event.key === 'ArrowUp') setActive((active + found.length - 1) % found.length)
    else if (event.key === 'Escape') setMention(undefined)
    else if ((event.key === 'Enter' || event.key === 'Tab') && !event.metaKey && !event.ctrlKey && chosen)
      complete(chosen.username)
    else return
    event.preventDefault()
  }
  const paste = (event: ClipboardEvent) => {
    const files = [...event.clipboardData.files].filter(({ type }) => type.startsWith('image/'))
    if (files.length === 0) return
    event.preventDefault()
    onImages(files)
  }
  const isLong = value.length > promptCharactersMax
  return (
    <div className={styles['field']}>
      <div className={styles['head']}>
        <label htmlFor={id}>{texts.prompt}</label>
        <span className={isLong ? styles['error'] : styles['count']}>
          {texts.promptCount(formatNumber(value.length), formatNumber(promptCharactersMax))}
        </span>
      </div>
      <div className={styles['place']}>
        <textarea
          id={id}
          ref={area}
          className={styles['area']}
          rows={rows}
          value={value}
          placeholder={texts.promptPlaceholder}
          role="combobox"
          aria-autocomplete="list"
          aria-expanded={isOpen}
          aria-controls={`${id}-characters`}
          aria-invalid={isLong}
          {...(isOpen && { 'aria-activedescendant': `${id}-${active}` })}
          {...(isLong && { 'aria-describedby': `${id}-error` })}
          onChange={(event) => {
            onChange(event.target.value)
            look()
          }}
          onClick={look}
          onKeyDown={onKey}
          onBlur={() => setMention(undefined)}
          onPaste={paste}
        />
        <div
          id={`${id}-characters`}
          role="listbox"
          aria-label={texts.characters}
          className={styles['menu']}
          hidden={!isOpen}
        >
          {found.map((character, index) => (
            // oxlint-disable-next-line jsx-a11y/click-events-have-key-events -- the keys are those of the text area
            <div
              key={character.id}
              id={`${id}-${index}`}
              role="option"
              aria-selected={index === active}
              tabIndex={-1}
              className={styles['option']}
              // The text area keeps the focus.
              onMouseDown={(event) => event.preventDefault()}
              onClick={() => complete(character.username)}
            >
              <img src={character.profile_picture_url} alt="" width={24} height={24} />
              <span className="ellipsis">@{character.username}</span>
            </div>
          ))}
        </div>
      </div>
      {isLong && (
        <p id={`${id}-error`} className={styles['error']}>
          {texts.promptTooLong(formatNumber(promptCharactersMax))}
        </p>
      )}
    </div>
  )
}
