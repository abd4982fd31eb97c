/** Amounts, times and ids, as every screen shows them. */
import { Check, Copy } from 'lucide-react'
import { useState, type ReactNode } from 'react'

import { commonTexts } from '../i18n/common.ts'
import { formatAge, formatMoney, formatNumber, formatTime, formatUtc, shortenId } from '../i18n/format.ts'
import { useTexts } from '../i18n/texts.ts'
import { Button } from './button.tsx'

/** An amount with its currency; the exact micros on hover. */
export const Money = ({ micros, currency }: { micros: number; currency: string }) => (
  <span className="nowrap" title={`${formatNumber(micros)} µ${currency}`}>
    {formatMoney(micros, currency)}
  </span>
)

/** A local time, with UTC on hover. `at` is a Unix time in seconds. */
export const Time = ({ at, isAge = false }: { at: number; isAge?: boolean }) => {
  const texts = useTexts(commonTexts)
  return (
    <time dateTime={new Date(at * 1_000).toISOString()} title={texts.utc(formatUtc(at))} className="nowrap">
      {isAge ? formatAge(at) : formatTime(at)}
    </time>
  )
}

interface CopyButtonProps {
  value: string
  /** What is copied, for screen readers. */
  name: string
  /** The button shows this text beside the icon. */
  children?: ReactNode
}

export const CopyButton = ({ value, name, children }: CopyButtonProps) => {
  const texts = useTexts(commonTexts)
  const [isCopied, setCopied] = useState(false)
  const copy = () => {
    void navigator.clipboard.writeText(value).then(() => {
      setCopied(true)
      setTimeout(() => setCopied(false), 1_500)
    })
  }
  return (
    <Button
      variant={children === undefined ? 'ghost' : 'plain'}
      size="small"
      isIcon={children === undefined}
      label={isCopied ? texts.copied : texts.copyNamed(name)}
      icon={isCopied ? <Check /> : <Copy />}
      onPress={copy}
    >
      {children}
    </Button>
  )
}

/** The end of an id; the whole id on hover and by copy. */
export const Id = ({ value, name, hasCopy = true }: { value: string; name: string; hasCopy?: boolean }) => (
  <span className="row nowrap">
    <span className="mono" title={value}>
      {shortenId(value)}
    </span>
    {hasCopy && <CopyButton value={value} name={name} />}
  </span>
)
