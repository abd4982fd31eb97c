/** A test of a provider in its steps, and the repair of the step that failed. */
import { CircleCheck, CircleDashed, CircleHelp, CircleX } from 'lucide-react'
import { useState, type FormEvent } from 'react'

import { formatDuration, formatTime } from '../i18n/format.ts'
import { useTexts } from '../i18n/texts.ts'
import { Prose } from '../schema-form/prose.tsx'
import { Button } from '../ui/button.tsx'
import { ErrorPanel } from '../ui/feedback.tsx'
import { TextField } from '../ui/field.tsx'
import { Money } from '../ui/values.tsx'
import type { ProviderTest } from './provider-data.ts'
import { providerTexts } from './texts.ts'

import styles from './test-panel.module.css'

/** What the page knows of the last test of a provider. */
export interface TestRun {
  isRunning: boolean
  /** Unix time in seconds. */
  testedAt: number
  test?: ProviderTest
  error?: unknown
}

type StepName = ProviderTest['steps'][number]['name']
const stepNames: StepName[] = ['configuration', 'address', 'key']

const icons = {
  passed: <CircleCheck aria-hidden className="good" />,
  failed: <CircleX aria-hidden className="bad" />,
  unknown: <CircleHelp aria-hidden className="muted" />,
  skipped: <CircleDashed aria-hidden className="muted" />,
}

const Step = ({ name, test }: { name: StepName; test: ProviderTest | undefined }) => {
  const { test: texts } = useTexts(providerTexts)
  const step = test?.steps.find((each) => each.name === name)
  const result = step?.result ?? 'skipped'
  const repair = step?.repair ?? ''
  // Many messages contain what to do.
  const hasRepair = repair !== '' && step?.message.toLowerCase().includes(repair.toLowerCase()) === false
  return (
    <li className={styles['step']} data-result={step?.result}>
      {icons[result]}
      <span className="medium">
        {texts.steps[name]}
        <span className="visually-hidden">
          : {step === undefined ? texts.running : texts.results[result]}
        </span>
      </span>
      <div className={styles['message']}>
        {step === undefined && <p className="muted">{texts.running}</p>}
        {step !== undefined && (
          <p className={result === 'skipped' ? 'muted' : ''}>
            {result === 'skipped' ? texts.notTried : <Prose text={step.message} />}
          </p>
        )}
        {hasRepair && (
          <p className="soft">
            <Prose text={repair} />
          </p>
        )}
      </div>
      <span className={`${styles['time']} muted`}>
        {step !== undefined && step.duration_ms > 0 && formatDuration(step.duration_ms)}
      </span>
    </li>
  )
}

interface KeyRepairProps {
  name: string
  isBusy: boolean
  error?: unknown
  onSave: (key: string) => void
}

/** Replaces the key without leaving the page. The current key is never shown. */
export const KeyRepair = ({ name, isBusy, error, onSave }: KeyRepairProps) => {
  const { repair } = useTexts(providerTexts)
  const [key, setKey] = useState('')
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (key.trim() === '') return
    onSave(key.trim())
    setKey('')
  }
  return (
    <>
      <form className={styles['repair']} onSubmit={submit}>
        <div className="grow">
          <TextField
            {...{ label: repair.label(name), isHiddenLabel: true, placeholder: repair.placeholder }}
            {...{ type: 'password', isMono: true, autoComplete: 'off', value: key, onChange: setKey }}
          />
        </div>
        <Button type="submit" variant="primary" isDisabled={key.trim() === ''} isBusy={isBusy}>
          {repair.action}
        </Button>
      </form>
      {error !== undefined && error !== null && <ErrorPanel error={error} />}
    </>
  )
}

export const TestSteps = ({ name, run }: { name: string; run: TestRun }) => {
  const { test: texts } = useTexts(providerTexts)
  const { test, isRunning, testedAt } = run
  const shown = isRunning ? undefined : test
  return (
    <section aria-label={texts.label(name)} aria-busy={isRunning}>
      {run.error !== undefined && !isRunning ? (
        <ErrorPanel error={run.error} />
      ) : (
        <>
          <ol className={styles['steps']}>
            {stepNames.map((each) => (
              <Step key={each} name={each} test={shown} />
            ))}
          </ol>
          <p className={`${styles['foot']} muted small-text`} role="status">
            {shown === undefined ? (
              texts.running
            ) : (
              <>
                {texts.done(formatTime(testedAt), formatDuration(shown.duration_ms))}{' '}
                {shown.cost_micros === 0 ? (
                  texts.free
                ) : (
                  <>
                    {texts.cost} <Money micros={shown.cost_micros} currency={shown.currency} />
                  </>
                )}
              </>
            )}
          </p>
        </>
      )}
    </section>
  )
}
