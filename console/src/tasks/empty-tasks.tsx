/** What is shown instead of a list without tasks: how to make the first one, or which filters hide all. */
import { Clapperboard, X } from 'lucide-react'

import { commonTexts } from '../i18n/common.ts'
import { useTexts } from '../i18n/texts.ts'
import { hasScope, useSession } from '../session/session.ts'
import { Button, LinkButton } from '../ui/button.tsx'
import { Card } from '../ui/card.tsx'
import { EmptyState } from '../ui/feedback.tsx'
import { describeFilter, type FilterName, type TaskSearch } from './filters.ts'
import { taskTexts } from './texts.ts'

import styles from './tasks-page.module.css'

export const FirstTask = ({ isOperatorView }: { isOperatorView: boolean }) => {
  const texts = useTexts(taskTexts)
  const session = useSession()
  const canCreate = hasScope(session, 'create') && hasScope(session, 'read')
  return (
    <Card>
      <EmptyState
        title={texts.empty.title}
        actions={
          canCreate && (
            <LinkButton to="/playground/video" variant="primary" icon={<Clapperboard aria-hidden />}>
              {texts.empty.action}
            </LinkButton>
          )
        }
      >
        {isOperatorView ? texts.empty.operator : texts.empty.detail}
      </EmptyState>
      {canCreate && (
        <div className={styles['samples']}>
          <p className="muted small-text">{texts.empty.samples}</p>
          {texts.empty.prompts.map((prompt) => (
            <LinkButton key={prompt} to="/playground/video" search={{ prompt }}>
              {prompt}
            </LinkButton>
          ))}
        </div>
      )}
    </Card>
  )
}

interface NoMatchProps {
  search: TaskSearch
  active: FilterName[]
  onRemove: (names: readonly FilterName[]) => void
}

export const NoMatch = ({ search, active, onRemove }: NoMatchProps) => {
  const texts = useTexts(taskTexts)
  const common = useTexts(commonTexts)
  const describe = (name: FilterName) => {
    const value = search[name] ?? ''
    if (name !== 'status') return describeFilter(name, value, texts)
    const { status } = common
    return value
      .split(',')
      .map((each) => (Object.hasOwn(status, each) ? status[each as keyof typeof status] : each))
      .join(', ')
  }
  return (
    <Card>
      <EmptyState
        title={texts.none.title}
        actions={
          <>
            {active.map((name) => (
              <Button key={name} icon={<X />} onPress={() => onRemove([name])}>
                {texts.none.remove(texts.filters[name], describe(name))}
              </Button>
            ))}
            {active.length > 1 && (
              <Button variant="ghost" onPress={() => onRemove(active)}>
                {texts.none.removeAll}
              </Button>
            )}
          </>
        }
      />
    </Card>
  )
}
