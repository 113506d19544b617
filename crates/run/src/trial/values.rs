//! Values of a trial by name: the settings and measurements that only one experiment has.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

/// Name of a value in `run.json`, with its type.
#[derive(Debug)]
pub struct ValueName<T>(&'static str, PhantomData<fn() -> T>);

impl<T> ValueName<T> {
    /// Makes the name of a value.
    pub const fn new(name: &'static str) -> Self {
        Self(name, PhantomData)
    }

    /// Returns the name that the value has in `run.json`.
    pub const fn name(self) -> &'static str {
        self.0
    }
}

impl<T> Clone for ValueName<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for ValueName<T> {}

/// Values by name: numbers, texts or booleans. In JSON, `null` stands for an undefined number.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(from = "BTreeMap<String, Value>")]
pub struct Values(BTreeMap<String, Value>);

impl From<BTreeMap<String, Value>> for Values {
    /// Stores whole numbers without a fraction. Equal whole numbers always have equal texts in the file.
    fn from(values: BTreeMap<String, Value>) -> Self {
        let alike = |value: Value| if value.is_f64() { value.as_f64().map_or(value, number) } else { value };
        Self(values.into_iter().map(|(name, value)| (name, alike(value))).collect())
    }
}

impl Values {
    /// Returns the value with the name `name`; `None` if there is no such value, or if it has another type.
    pub fn get<T: StoredValue>(&self, name: ValueName<T>) -> Option<T> {
        T::read(self.0.get(name.0)?)
    }

    /// Sets the value that has this name, or removes this entry if `value` is `None`.
    pub fn put<T: StoredValue>(&mut self, name: ValueName<T>, value: impl Into<Option<T>>) {
        match value.into() {
            Some(value) => self.insert(name.0, value),
            None => drop(self.0.remove(name.0)),
        }
    }

    /// Returns the value with this name as a number; true is 1 and false is 0. Returns `None` for a value that is
    /// neither a number nor a boolean.
    pub fn number(&self, name: &str) -> Option<f64> {
        as_number(self.0.get(name)?)
    }

    /// Returns all values that are numbers or booleans, with their names.
    pub fn numbers(&self) -> impl Iterator<Item = (&str, f64)> {
        self.0.iter().filter_map(|(name, value)| Some((name.as_str(), as_number(value)?)))
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    pub(crate) fn insert(&mut self, name: &str, value: impl StoredValue) {
        self.0.insert(name.into(), value.store());
    }
}

/// Adds methods to a type that read and write its field `values`.
macro_rules! with_values {
    ($holder:ty) => {
        impl $holder {
            /// Returns the value of an experiment that has the given name; `None` if there is none.
            pub fn get<T: StoredValue>(&self, name: ValueName<T>) -> Option<T> {
                self.values.get(name)
            }

            /// Sets the value of an experiment that has the given name, or removes the value if `value` is `None`.
            pub fn put<T: StoredValue>(&mut self, name: ValueName<T>, value: impl Into<Option<T>>) {
                self.values.put(name, value);
            }

            /// Sets the value of an experiment that has the given name, and returns `self`.
            #[must_use]
            pub fn with<T: StoredValue>(mut self, name: ValueName<T>, value: impl Into<Option<T>>) -> Self {
                self.put(name, value);
                self
            }
        }
    };
}
pub(super) use with_values;

fn as_number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::Bool(yes) => Some(f64::from(u8::from(*yes))),
        Value::Null => Some(f64::NAN),
        _ => None,
    }
}

/// Limit below which every whole number is exact in an `f64`.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

fn number(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < MAX_EXACT {
        return Value::from(value as i64);
    }
    Number::from_f64(value).map_or(Value::Null, Value::Number)
}

/// Type that a value of an experiment may have.
pub trait StoredValue: Sized {
    /// Converts a value into the form in which `run.json` stores it.
    fn store(self) -> Value;
    /// Converts a stored value back; `None` if the stored value has another type.
    fn read(value: &Value) -> Option<Self>;
}

impl StoredValue for f64 {
    fn store(self) -> Value {
        number(self)
    }

    fn read(value: &Value) -> Option<Self> {
        as_number(value)
    }
}

impl StoredValue for u32 {
    fn store(self) -> Value {
        self.into()
    }

    fn read(value: &Value) -> Option<Self> {
        value.as_u64()?.try_into().ok()
    }
}

impl StoredValue for bool {
    fn store(self) -> Value {
        self.into()
    }

    fn read(value: &Value) -> Option<Self> {
        // The oldest runs stored booleans and texts as numbers, too.
        value.as_bool().or_else(|| match value.as_u64()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        })
    }
}

impl StoredValue for String {
    fn store(self) -> Value {
        self.into()
    }

    fn read(value: &Value) -> Option<Self> {
        value.as_str().map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELD: ValueName<f64> = ValueName::new("held");
    const ENTRY: ValueName<u32> = ValueName::new("entry");
    const MODEL: ValueName<String> = ValueName::new("model");
    const BARE: ValueName<bool> = ValueName::new("bare");

    #[test]
    fn values_have_the_type_of_their_name_and_survive_json() {
        let mut values = Values::default();
        values.put(HELD, f64::NAN);
        values.put(ENTRY, 3);
        values.put(MODEL, Some("epoll".to_string()));
        values.put(BARE, true);
        let back: Values = serde_json::from_str(&serde_json::to_string(&values).unwrap()).unwrap();
        assert_eq!(back, values);
        assert!(back.get(HELD).is_some_and(f64::is_nan));
        assert_eq!((back.get(ENTRY), back.get(MODEL).as_deref(), back.get(BARE)), (Some(3), Some("epoll"), Some(true)));
        assert_eq!(back.get(ValueName::<f64>::new("model")), None, "words are no number");
        values.put(ENTRY, None);
        assert_eq!((values.get(ENTRY), values.numbers().count()), (None, 2));
    }

    #[test]
    fn equal_numbers_are_written_alike() {
        let read: Values = serde_json::from_str(r#"{"held":10.0,"entry":2.5}"#).unwrap();
        let mut made = Values::default();
        made.put(HELD, 10.0);
        made.insert("entry", 2.5);
        assert_eq!((read.get(ENTRY), &read), (None, &made), "2.5 is no count");
        assert_eq!(serde_json::to_string(&read).unwrap(), r#"{"entry":2.5,"held":10}"#);
    }
}
