import { Link, type LinkProps } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { Button as AriaButton, type ButtonProps as AriaButtonProps } from 'react-aria-components/Button'

import styles from './button.module.css'

type Variant = 'primary' | 'plain' | 'ghost' | 'danger' | 'dangerPrimary'

interface Look {
  /** One primary button per view. It names its effect, and its price if it has one. */
  variant?: Variant
  size?: 'small' | 'normal' | 'large'
  icon?: ReactNode
  /** The button shows its icon only. Needs `label`. */
  isIcon?: boolean
}

const classOf = ({ variant = 'plain', size = 'normal', isIcon = false }: Look) =>
  [styles['button'], styles[variant], styles[size], isIcon ? styles['icon'] : ''].join(' ')

export interface ButtonProps extends Look, Omit<AriaButtonProps, 'className' | 'style' | 'children'> {
  children?: ReactNode
  /** Read by screen readers, and shown as tooltip of a button with an icon only. */
  label?: string
  /** The button keeps its text and width, and shows that it works. */
  isBusy?: boolean
}

export const Button = ({ variant, size, icon, isIcon, children, label, isBusy, ...rest }: ButtonProps) => (
  <AriaButton
    {...rest}
    {...(label !== undefined && { 'aria-label': label })}
    {...(isBusy === true && { isPending: true })}
    className={classOf({ ...(variant && { variant }), ...(size && { size }), isIcon: isIcon ?? false })}
  >
    {icon}
    {children}
    {isBusy === true && <span className={styles['busy']} aria-hidden />}
  </AriaButton>
)

/** A link that looks like a button. */
export const LinkButton = ({
  variant,
  size,
  icon,
  children,
  ...rest
}: Look & LinkProps & { children?: ReactNode }) => (
  <Link {...rest} className={classOf({ ...(variant && { variant }), ...(size && { size }) })}>
    <>
      {icon}
      {children}
    </>
  </Link>
)

/** A download, or a page outside of the console. */
export const AnchorButton = ({
  variant,
  size,
  icon,
  isIcon,
  label,
  children,
  ...rest
}: Look & { children?: ReactNode; href: string; download?: string; target?: string; label?: string }) => (
  <a
    {...rest}
    {...(label !== undefined && { 'aria-label': label, title: label })}
    {...(rest.target === '_blank' && { rel: 'noreferrer' })}
    className={classOf({ ...(variant && { variant }), ...(size && { size }), isIcon: isIcon ?? false })}
  >
    {icon}
    {children}
  </a>
)
