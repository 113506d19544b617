//! Structs of optional figures whose fields can be read and written by name.

/// Defines a struct whose fields are optional figures. The fields after `besides` are not figures.
macro_rules! figures {
    (
        $(#[$about:meta])*
        $Name:ident { $($(#[doc = $doc:literal])* $field:ident: $of:ty,)* }
        besides { $($(#[$attribute:meta])* $more:ident: $More:ty,)* }
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(test, derive(schemars::JsonSchema))]
        #[serde(default)]
        pub struct $Name {
            $($(#[doc = $doc])* #[serde(skip_serializing_if = "Option::is_none")] pub $field: Option<$of>,)*
            $($(#[$attribute])* pub $more: $More,)*
        }

        impl $Name {
            /// Returns each figure that is present, with the name of its field.
            pub fn figures(&self) -> impl Iterator<Item = (&'static str, f64)> {
                let all = [$((stringify!($field), self.$field.map($crate::by_name::Number::figure)),)*];
                all.into_iter().filter_map(|(name, value)| Some((name, value?)))
            }

            /// Sets the field with this name. Returns `false` if there is no such field or it cannot have this value.
            pub(crate) fn take(&mut self, name: &str, value: f64) -> bool {
                match name {
                    $(stringify!($field) => {
                        self.$field = $crate::by_name::Number::of(value);
                        self.$field.is_some()
                    })*
                    _ => false,
                }
            }
        }
    };
}
pub(crate) use figures;

/// Types that a field of figures may have.
pub(crate) trait Number: Copy {
    /// Converts to a figure; true is 1.
    fn figure(self) -> f64;
    /// Converts from a figure; `None` if the value is out of range.
    fn of(figure: f64) -> Option<Self>;
}

impl Number for f64 {
    fn figure(self) -> f64 {
        self
    }

    fn of(figure: f64) -> Option<Self> {
        Some(figure)
    }
}

impl Number for u32 {
    fn figure(self) -> f64 {
        f64::from(self)
    }

    fn of(figure: f64) -> Option<Self> {
        (f64::from(figure as Self) == figure).then_some(figure as Self)
    }
}

impl Number for u64 {
    fn figure(self) -> f64 {
        self as f64
    }

    fn of(figure: f64) -> Option<Self> {
        (figure as Self as f64 == figure && figure < 2f64.powi(53)).then_some(figure as Self)
    }
}

impl Number for bool {
    fn figure(self) -> f64 {
        f64::from(u8::from(self))
    }

    fn of(figure: f64) -> Option<Self> {
        [0.0, 1.0].contains(&figure).then_some(figure == 1.0)
    }
}
