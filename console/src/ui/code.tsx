/** Code with colours, and a button that copies it. */
import { Fragment } from 'react'

import { CopyButton } from './values.tsx'

import styles from './code.module.css'

const token =
  /((?<=^|\s)(?:#|\/\/)[^\n]*)|("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`)|\b(\d+(?:\.\d+)?)\b|\b(import|from|const|await|new|for|of|with|open|as|print|export|return|true|false|null|None|True|False)\b/g

const colour = (text: string) => {
  const parts: { text: string; kind?: string }[] = []
  let at = 0
  for (const match of text.matchAll(token)) {
    if (match.index > at) parts.push({ text: text.slice(at, match.index) })
    const kind = ['comment', 'string', 'number', 'word'][
      match.slice(1).findIndex((group) => group !== undefined)
    ]
    parts.push({ text: match[0], ...(kind !== undefined && { kind }) })
    at = match.index + match[0].length
  }
  parts.push({ text: text.slice(at) })
  return parts
}

export const Code = ({ text, name, hasCopy = true }: { text: string; name: string; hasCopy?: boolean }) => (
  <div className={styles['code']}>
    {/* Wide code is scrolled, also by keyboard. */}
    <pre tabIndex={0} role="region" aria-label={name}>
      <code>
        {colour(text).map(({ text: part, kind }, index) =>
          kind === undefined ? (
            <Fragment key={index}>{part}</Fragment>
          ) : (
            <span key={index} className={styles[kind]}>
              {part}
            </span>
          ),
        )}
      </code>
    </pre>
    {hasCopy && (
      <div className={styles['copy']}>
        <CopyButton value={text} name={name} />
      </div>
    )}
  </div>
)
