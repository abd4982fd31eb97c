import { Link } from '@tanstack/react-router'
import { Check } from 'lucide-react'
/** The way from the first video to one's own vendor and applications. */
import { useState } from 'react'

import { useTexts } from '../i18n/texts.ts'
import { Button } from '../ui/button.tsx'
import { Skeleton } from '../ui/feedback.tsx'
import { Bar } from '../ui/status.tsx'
import { useSteps, type Step } from './start-steps.ts'
import { startTexts } from './texts.ts'

import styles from './start-page.module.css'

const storageKey = 'kinora-start-hidden'

const StepAction = ({ step, label }: { step: Step; label: string }) => {
  const className = 'link nowrap'
  if (step === 'vendor')
    return (
      <Link to="/providers" search={{ new: 'true' }} className={className}>
        {label}
      </Link>
    )
  if (step === 'key')
    return (
      <Link to="/keys" search={{ new: 'true' }} className={className}>
        {label}
      </Link>
    )
  return step === 'webhook' ? (
    <Link to="/webhooks" search={{ new: 'true' }} className={className}>
      {label}
    </Link>
  ) : null
}

export const StartChecklist = () => {
  const texts = useTexts(startTexts)
  const { data: steps } = useSteps()
  const [isHidden, setHidden] = useState(() => localStorage.getItem(storageKey) === 'true')
  const hide = (hidden: boolean) => {
    localStorage.setItem(storageKey, String(hidden))
    setHidden(hidden)
  }
  if (isHidden)
    return (
      <div>
        <Button size="small" onPress={() => hide(false)}>
          {texts.show}
        </Button>
      </div>
    )
  if (steps === undefined) return <Skeleton height={420} />
  const done = steps.filter(({ isDone }) => isDone).length
  const next = steps.find(({ isDone }) => !isDone)?.step
  return (
    <section className={styles['card']} aria-label={texts.list}>
      <header className={styles['listHead']}>
        <div className="row between">
          <h2>{texts.list}</h2>
          <span className="muted small-text">{texts.done(done, steps.length)}</span>
        </div>
        <Bar share={done / steps.length} label={texts.done(done, steps.length)} color="green" />
      </header>
      <ol>
        {steps.map(({ step, isDone }) => {
          const { title, detail, action } = texts.steps[step]
          return (
            <li key={step} className={styles['step']} data-is-next={step === next || undefined}>
              <span
                className={styles['mark']}
                data-is-done={isDone || undefined}
                {...(isDone && { role: 'img', 'aria-label': texts.isDone })}
              >
                {isDone && <Check aria-hidden />}
              </span>
              <span className="grow">
                <span className={isDone ? 'muted' : 'medium'}>{title}</span>
                {!isDone && <span className={styles['detail']}>{detail}</span>}
              </span>
              {!isDone && action !== '' && <StepAction step={step} label={action} />}
            </li>
          )
        })}
      </ol>
      <footer className={styles['listFoot']}>
        <span className="muted">{texts.skip}</span>
        <button type="button" className="link" onClick={() => hide(true)}>
          {texts.hide}
        </button>
      </footer>
    </section>
  )
}
